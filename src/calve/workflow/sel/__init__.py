"""SEL, the expression language of params and conditions: a sandbox with hard limits.

`evaluate` runs an expression, `referenced_names` says which params it needs. A value inside an evaluation
is always one of SEL's own types, a method is always a line in a table: there is no way to a Python object.
"""

from __future__ import annotations

from calve.workflow.sel.engine import Result, evaluate, referenced_names
from calve.workflow.sel.errors import SelError
from calve.workflow.sel.limits import Limits
from calve.workflow.sel.runtime import Functions, Host

__all__ = ["Functions", "Host", "Limits", "Result", "SelError", "evaluate", "referenced_names"]
