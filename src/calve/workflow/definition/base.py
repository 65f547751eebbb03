"""What all parts of the model share: frozen, no unknown keys, errors with codes of our own."""

from __future__ import annotations

from enum import Enum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

from calve.errors import UsageError

T = TypeVar("T")


class Model(BaseModel):
    """A part of a definition: a frozen value whose JSON is Maestro's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def to_json(self) -> dict[str, Any]:
        """The JSON of this part; what is not set is left out."""
        made: dict[str, Any] = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        return made


class OpenModel(Model):
    """A part that keeps keys it does not know."""

    model_config = ConfigDict(frozen=True, extra="allow")


class RuleError(UsageError, ValueError):
    """A value that breaks a rule. As a ValueError it may leave a validator and keep its code."""

    def __init__(
        self, code: str, message: str, expected: str | None, among: tuple[str, ...], found: str | None
    ) -> None:
        super().__init__(code, message, "Correct it." if expected is None else f"Expected {expected}.")
        self.expected = expected
        self.among = among
        self.found = found


def refuse(
    code: str,
    message: str,
    *,
    expected: str | None = None,
    among: tuple[str, ...] = (),
    found: str | None = None,
) -> RuleError:
    """The error to raise for a value that breaks a rule.

    `among` are the right names, if it is a name; `found` is the part that is wrong, if it is not all of it.
    """
    return RuleError(code, message, expected, among, found)


def _unset_to_empty(value: Any) -> Any:
    return () if value is None else value


#: A list that may be left out, or null: then it is empty.
Many = Annotated[tuple[T, ...], BeforeValidator(_unset_to_empty)]


def _some(values: tuple[T, ...]) -> tuple[T, ...]:
    if not values:
        raise refuse("LIST_EMPTY", "the list is empty", expected="at least one")
    return values


#: A list with at least one element.
Some = Annotated[tuple[T, ...], AfterValidator(_some)]


def _upper(value: Any) -> Any:
    if isinstance(value, Enum):
        return value
    return value.upper() if isinstance(value, str) else value


#: Before an enum or a tag whose case does not matter.
AnyCase = BeforeValidator(_upper)
