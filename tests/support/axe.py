"""axe, the accessibility checker, as the npm registry has it."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

VERSION = "4.14.0"


def fetch_axe(folder: Path) -> str | None:
    """The text of axe; None where there is no npm, or the registry cannot be reached."""
    npm = shutil.which("npm")
    if npm is None:
        return None
    command = [npm, "pack", "--silent", f"axe-core@{VERSION}"]
    if subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode != 0:
        return None
    with tarfile.open(folder / f"axe-core-{VERSION}.tgz") as packed:
        found = packed.extractfile("package/axe.min.js")
        assert found is not None
        return found.read().decode()
