"""`python -m calve.cli` is `calve`."""

from calve.cli.main import main

main()
