"""The browser that is on the machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Browser

# Nothing of it asks other hosts for anything.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
_NAMES = ("chromium", "chromium-browser", "google-chrome")


@contextmanager
def open_browser() -> Iterator[Browser | None]:
    """Debian's Chromium, or what else there is of the kind; None if there is nothing."""
    found = next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        yield None
        return
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=found, args=list(_QUIET))
        yield made
        made.close()
