"""Pictures: values in; SVG, lines for a terminal, or one HTML page out.

Each picture has a module that makes a value of ``picture.py`` or ``chart.py`` of it: cells in panels, or bars in lanes.
These are written by ``grids.py`` and ``charts.py``; ``svg.py`` knows how SVG is written, ``page.py`` how HTML is.
"""
