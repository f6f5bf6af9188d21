"""Make the pictures of this folder: ``python docs/pictures/make.py`` in the root of the repository.

Needs tileproof with the extra `oracle`, whose CuTe DSL compiles the kernel of the report, and Chromium (Debian:
``apt install chromium``) for the screenshots. Look at them before you commit.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def tileproof(*arguments: str, folder: Path, status: int = 0) -> None:
    """Run the command line of this checkout.

    Raises:
        SystemExit: its exit status is another.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "engine"), "CUTE_DSL_ARCH": "sm_90a"}
    done = subprocess.run([sys.executable, "-m", "tileproof.cli", *arguments], cwd=folder, env=environment, check=False)
    if done.returncode != status:
        sys.exit(f"tileproof {' '.join(arguments)}: exit status {done.returncode}")


def shot(page: Path, to: str, width: int, height: int) -> None:
    """A screenshot of a page."""
    assert CHROMIUM is not None, "asked before"
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--force-device-scale-factor=1"]
    profile = f"--user-data-dir={page.parent / 'profile'}"
    wanted = [f"--window-size={width},{height}", f"--screenshot={HERE / to}", page.as_uri()]
    subprocess.run([CHROMIUM, *options, profile, *wanted], check=True, capture_output=True)


def main() -> None:
    """Make them all."""
    if CHROMIUM is None:
        sys.exit("no chromium: apt install chromium")
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        tileproof("draw", "swizzle", "S<3,4,3>", "-o", str(HERE / "swizzle.svg"), folder=folder)
        drawn = ("S<2,3,3> o 0 o (8,32):(32,1)", "--element", "f32", "-o", "layout.html")
        tileproof("draw", "layout", *drawn, folder=folder)
        shot(folder / "layout.html", "layout.png", 1000, 365)

        example = (ROOT / "examples" / "hopper_gemm.py").read_text(encoding="utf-8")
        lines = [line for line in example.splitlines(keepends=True) if "warpgroup.fence()" not in line]
        (folder / "gemm.py").write_text("".join(lines), encoding="utf-8")
        written = ("--format", "html", "--output-file", "report.html", "--", sys.executable, "gemm.py")
        tileproof("run", *written, folder=folder, status=1)
        report = folder / "report.html"
        text = report.read_text(encoding="utf-8").replace("<details>", "<details open>")  # as a reader opens them
        report.write_text(text, encoding="utf-8")
        shot(report, "report.png", 1200, 1420)


if __name__ == "__main__":
    main()
