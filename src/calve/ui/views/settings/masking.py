"""Settings without their secrets. Pure."""

from __future__ import annotations

import re

HIDDEN = "•••"
_SECRET = r"[\w.\-]*(?:secret|password|passwd|pwd|token|credential|key|sig|signature|auth)[\w.\-]*"
_SECRET_NAME = re.compile(_SECRET, re.IGNORECASE)
# A password may hold any sign, so it ends at the last one that can end it.
_USERINFO = re.compile(r"(?<=://)([^:/?#@\s]*):\S*(?=@)")
_SECRET_PAIR = re.compile(rf"(?<=[?&;])({_SECRET})=[^&;#\s]*", re.IGNORECASE)
#: What a file, or a variable, has instead of the secret itself.
_REFERENCE = re.compile(r"\$\{\w+\}")


def mask_url(text: str) -> str:
    """An address whose password, and secrets in the query, are not shown."""
    return _SECRET_PAIR.sub(rf"\1={HIDDEN}", _USERINFO.sub(rf"\1:{HIDDEN}", text))


def mask_value(name: str, text: str) -> str:
    """A setting that is hidden if its name sounds like a secret, but for a reference to one."""
    if _SECRET_NAME.fullmatch(name) and not name.endswith("_file") and not _REFERENCE.fullmatch(text):
        return HIDDEN
    return mask_url(text)
