"""Pages in headless Chromium, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium")
needed = pytest.mark.skipif(CHROMIUM is None, reason="no chromium: apt install chromium")
_SHOWN = "<script>addEventListener('error',(e)=>document.documentElement.append('SCRIPT'+' ERROR '+e.message))</script>"


def dom(page: str, folder: Path, script: str = "") -> str:
    """What a page is once it was loaded and a script of the test ran in it; an error of a script stands in it.

    Without network: all names resolve to nothing.
    """
    assert CHROMIUM is not None
    path = folder / "page.html"
    begun = page.replace("<head>", f"<head>{_SHOWN}", 1)
    path.write_text(begun.replace("</html>", f"<script>{script}</script></html>"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP * ~NOTFOUND", "--dump-dom"]
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [CHROMIUM, *options, profile, path.as_uri()], capture_output=True, timeout=120, check=True, text=True
    )
    return done.stdout


def press(*keys: str) -> str:
    """The script that presses keys."""
    return "".join(
        f"(document.activeElement||document).dispatchEvent(new KeyboardEvent('keydown',{{key:'{key}',bubbles:true}}));"
        for key in keys
    )
