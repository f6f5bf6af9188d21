"""Pictures: values in; SVG, lines for a terminal, or one HTML page out.

Each picture has a module that makes a value of ``picture.py`` of it: cells in panels. ``grids.py`` writes these;
``svg.py`` knows how SVG is written, ``page.py`` how HTML is.
"""
