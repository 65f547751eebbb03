"""Names like `step__param`: a param of another step, or of a signal."""

from __future__ import annotations

from collections.abc import Collection

from calve.errors import UsageError

SEPARATOR = "__"


def is_reference(name: str) -> bool:
    """True for a name with the separator in it."""
    return SEPARATOR in name


def split_reference(name: str, step_ids: Collection[str]) -> tuple[str, str]:
    """The step (or signal) and the param that a name refers to.

    An id may end in an underscore and a name may begin with one, so `a___b` can be read in two ways: the
    steps that exist decide.
    """
    first = name.index(SEPARATOR)
    if first != name.rindex(SEPARATOR):
        short, long = name[:first], name[: first + 1]
        if short in step_ids and long in step_ids:
            raise UsageError(
                "PARAM_REFERENCE",
                f"'{name}' can mean a param of step '{short}' or of step '{long}'",
                "Use params.getFromStep with the id of the step.",
            )
        if short not in step_ids:
            if long not in step_ids:
                raise UsageError(
                    "PARAM_REFERENCE",
                    f"'{name}' refers to step '{short}' or '{long}', and there is neither",
                    "Check the id of the step; case counts.",
                )
            first += 1
    return name[:first], name[first + len(SEPARATOR) :]
