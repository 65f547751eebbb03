"""`docs/reference/settings.md`: what `calve.toml` and the environment may say."""

from __future__ import annotations

from collections.abc import Iterator

from pydantic import BaseModel

from calve.settings import Settings
from tools.reference.markdown import page, paragraphs
from tools.reference.models import comments_of, fields_table

_INTRODUCTION = (
    "`calve.toml` in the home, section by section. The environment goes above it: `ttl` of `[icdc]` is "
    "`CALVE_ICDC__TTL`, a key outside of any section such as `state_url` is `CALVE_STATE_URL`. A duration is "
    "`45s`, `30m`, `12h`, `7d` or `2w`. [Catalogs and storage](../catalogs.md) has a file as an example."
)


def make() -> str:
    """The page."""
    return page("Settings", _INTRODUCTION, _parts())


def _parts() -> Iterator[str]:
    yield "## Outside of sections"
    sections = section_models()
    plain = [name for name in Settings.model_fields if name not in sections]
    said = comments_of(Settings)
    yield "\n".join(f"- `{name}`: {said[name]}" for name in plain)
    for name, model in sections.items():
        yield f"## [{name}]"
        yield paragraphs(model.__doc__)
        yield fields_table(model)


def section_models() -> dict[str, type[BaseModel]]:
    """The sections of the file by name."""
    kinds = {name: field.annotation for name, field in Settings.model_fields.items()}
    return {
        name: kind for name, kind in kinds.items() if isinstance(kind, type) and issubclass(kind, BaseModel)
    }
