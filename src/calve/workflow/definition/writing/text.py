"""Plain values as YAML text: block style, long texts as blocks, everything as it reads back."""

from __future__ import annotations

import re
from io import StringIO
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.representer import SafeRepresenter

from calve.workflow.definition.model import WorkflowDefinition
from calve.workflow.definition.writing.document import write_document

# What is no character of a line of text: only an escape brings it back as it was.
_UNPRINTABLE = re.compile(
    r"[^\n\t\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
_WIDE = 10_000
_SHORT_LIST = 60


class _Representer(SafeRepresenter):
    """Writes texts of several lines as blocks, and short lists of values on one line."""

    def represent_text(self, text: str) -> Any:
        style = None
        if _UNPRINTABLE.search(text):
            style = '"'
        elif "\n" in text and not text.startswith((" ", "\n", "\t")):
            style = "|"
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    def represent_values(self, items: list[Any]) -> Any:
        is_short = not any(isinstance(item, dict | list) for item in items) and len(str(items)) <= _SHORT_LIST
        return self.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=is_short)


_Representer.add_representer(str, _Representer.represent_text)
_Representer.add_representer(list, _Representer.represent_values)


def to_yaml(definition: WorkflowDefinition) -> str:
    """The definition in the YAML language, always the same for the same definition."""
    yaml = YAML(typ="safe", pure=True)
    yaml.Representer = _Representer
    yaml.default_flow_style = False
    yaml.sort_base_mapping_type_on_output = False  # type: ignore[assignment]
    yaml.width = _WIDE
    # No anchors: what is the same twice is written twice.
    yaml.representer.ignore_aliases = lambda _: True
    made = StringIO()
    yaml.dump(write_document(definition), made)
    return made.getvalue()
