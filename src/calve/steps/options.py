"""The options of a step type, read from the evaluated params of a step."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, ValidationError

from calve.errors import CalveError, UsageError
from calve.steps.contract import Ending, Finished, Options, StepContext


def _as_texts(value: Any) -> Any:
    """Numbers and booleans as a shell writes them."""
    if not isinstance(value, Mapping):
        return value
    return {
        name: json.dumps(item) if isinstance(item, bool | int | float) else item
        for name, item in value.items()
    }


#: Environment variables: a map of texts, numbers and booleans.
Variables = Annotated[dict[str, str], BeforeValidator(_as_texts)]

#: Params of any step that say which tables it reads and writes; they are for the lineage, not for the job.
READS = "reads"
WRITES = "writes"

OptionsT = TypeVar("OptionsT", bound=Options)


def read_options(model: type[OptionsT], context: StepContext) -> OptionsT:
    """The options of a step; a wrong one is a `UsageError` that names the param."""
    try:
        return model.model_validate(flat_params(model, context))
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        message = first["msg"].removeprefix("Value error, ")
        raise UsageError(
            "STEP_OPTION_INVALID",
            f"step '{context.step_id}': {where + ': ' if where else ''}{message}",
            "correct the params of the step",
        ) from error


def flat_params(model: type[Options], context: StepContext) -> dict[str, Any]:
    """The params of a step, those in the section of its type among them."""
    section = {} if model.section is None else context.params.get(model.section)
    if not isinstance(section, Mapping):
        return dict(context.params)
    return {**context.params, **section, **context.own_params}


def refused(error: CalveError) -> Finished:
    """The end of an attempt that an error of Calve's own prevents: a wrong use is not tried again."""
    ending = Ending.FATAL_ERROR if isinstance(error, UsageError) else Ending.PLATFORM_ERROR
    return Finished.failed(ending, error.code, error.message, error.remedy)
