"""Steps that are made of other runs: subworkflows and loops. They run in the engine's own transactions."""

from __future__ import annotations

from calve.engine.core.composites.contract import Composite
from calve.engine.core.step_state import StepState
from calve.workflow.definition.steps import ForeachStep, SubworkflowStep, WhileStep

__all__ = ["Composite", "composite_of"]


def composite_of(step: StepState) -> Composite | None:
    """What runs a step that is made of other runs; None for a step with a type."""
    from calve.engine.core.composites.foreach import Foreach
    from calve.engine.core.composites.subworkflow import Subworkflow
    from calve.engine.core.composites.while_ import While

    match step.definition:
        case ForeachStep():
            return Foreach()
        case WhileStep():
            return While()
        case SubworkflowStep():
            return Subworkflow()
    return None
