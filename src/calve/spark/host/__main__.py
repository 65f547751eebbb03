"""`python -m calve.spark.host FOLDER`: the process of a host, on its own from the first moment."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def main() -> None:
    """Leave the family of whoever started this, and serve."""
    if os.fork():
        os._exit(0)
    from calve.spark.host.serving import run

    sys.exit(run(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
