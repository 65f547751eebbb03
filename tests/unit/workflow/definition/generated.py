"""Definitions by chance: every part of the model that the YAML language can say."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

NAMES = [f"n{index}" for index in range(6)] + ["id", "jobs", "dag", "steps", "retry_policy", "a.b-c", "type"]
CONDITIONS = [
    "true",
    "x > 0",
    "a == 'b THEN c'",
    "1 > 0 || x < 3",
    '"OTHERWISE" == y',
    "!(x)",
    "if (x > 0) { 1; } else { 2; }",
]
EXPRESSIONS = ["1 + 1", "x", "Util.intsBetween(0, 3, 1);", "return 'a: b';", '"q"']

# Dollars would make references, and circles of them; whole ones are put in on purpose.
TEXTS = st.text(
    st.characters(exclude_characters="$", exclude_categories=["Cs"]), max_size=20
) | st.sampled_from(
    [
        "${RUN_DATE}",
        "$$x",
        "2024-01-01",
        "12:30:00",
        "null",
        "yes",
        "1e3",
        "line\nline\n",
        " x\ny ",
        "- a",
        "&a",
        "#",
    ]
)
WORDS = st.text("abcXYZ_-. 1", min_size=1, max_size=12).filter(lambda text: text.strip() == text)
LONGS = st.integers(-(2**63), 2**63 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False)
LITERALS: dict[str, st.SearchStrategy[Any]] = {
    "STRING": TEXTS,
    "LONG": LONGS,
    "DOUBLE": DOUBLES,
    "BOOLEAN": st.booleans(),
    "STRING_MAP": st.dictionaries(TEXTS, TEXTS, max_size=3),
    "STRING_ARRAY": st.lists(TEXTS, max_size=3),
    "LONG_ARRAY": st.lists(LONGS, max_size=3),
    "DOUBLE_ARRAY": st.lists(DOUBLES, max_size=3),
    "BOOLEAN_ARRAY": st.lists(st.booleans(), max_size=3),
}
MODES = st.sampled_from([None, "MUTABLE", "CONSTANT", "MUTABLE_ON_START"])


def without_none(entries: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in entries.items() if value is not None}


@st.composite
def params_of(draw: st.DrawFn, types: tuple[str, ...], depth: int = 1) -> dict[str, Any]:
    type_ = draw(st.sampled_from(types))
    mode = draw(MODES)
    if draw(st.integers(0, 3)) == 0:
        return without_none({"expression": draw(st.sampled_from(EXPRESSIONS)), "type": type_, "mode": mode})
    if type_ == "MAP":
        inner = tuple(LITERALS) + (("MAP",) if depth else ())
        value: Any = draw(st.dictionaries(st.sampled_from(NAMES), params_of(inner, depth - 1), max_size=3))
    else:
        value = draw(LITERALS[type_])
    return without_none({"value": value, "type": type_, "mode": mode})


ANY_PARAM = params_of((*LITERALS, "MAP"))
PARAMS = st.dictionaries(st.sampled_from(NAMES), ANY_PARAM, max_size=4)
INDEXED = params_of(("STRING", "LONG"))
OPTIONAL_TIMEOUT = st.sampled_from([None, 30, "2h", "1d 2h", "${limit}"])
TAGS = st.lists(WORDS, max_size=2, unique=True)

MATCHES = st.dictionaries(st.sampled_from(NAMES[:6]), INDEXED, max_size=2).map(
    lambda found: {
        name: {"param": param, "operator": "=" if index else ">="}
        for index, (name, param) in enumerate(found.items())
    }
)
DEPENDENCIES = st.lists(
    st.fixed_dictionaries({"name": WORDS, "match_params": MATCHES})
    | st.fixed_dictionaries({"table": st.sampled_from(["db.t", "${db}.t"]), "valid_through": INDEXED}),
    max_size=2,
)
OUTPUTS = st.lists(
    st.fixed_dictionaries(
        {
            "name": WORDS,
            "params": st.dictionaries(st.sampled_from(NAMES), INDEXED, max_size=2),
            "payload": PARAMS,
        }
    ),
    max_size=2,
)
RETRIES = st.sampled_from(
    [
        None,
        {},
        {"error_retry_limit": 3, "platform_retry_limit": "${p}"},
        {"backoff": {"type": "FIXED_BACKOFF", "error_retry_backoff_in_secs": "1min"}},
        {"timeout_retry_limit": "1", "backoff": {"type": "EXPONENTIAL_BACKOFF", "error_retry_exponent": 3}},
    ]
)
TIME_TRIGGERS = st.sampled_from(
    [
        {"type": "CRON", "cron": "*/5 * * * *", "timezone": "Europe/Berlin"},
        {"type": "PREDEFINED", "expression": "@daily", "fuzzy_max_delay": "10 min"},
    ]
)
SIGNAL_TRIGGERS: st.SearchStrategy[dict[str, Any]] = st.builds(
    lambda names, value, operator, params, condition: without_none(
        {
            "definitions": {
                name: {"match_params": {"m": {"value": value, "operator": operator}}, "join_keys": ["k"]}
                for name in names
            },
            "params": params,
            "condition": condition,
        }
    ),
    st.lists(WORDS, min_size=1, max_size=3, unique=True),
    LONGS | TEXTS,
    st.sampled_from(["=", ">", "<="]),
    PARAMS,
    st.sampled_from([None, "x > 0"]),
) | WORDS.map(lambda name: {"definitions": {name: {}}})
INCREMENTAL = st.sampled_from(
    [
        {"tables": ["a.b"]},
        {"tables": ["a.b", "c.d"], "data_operations": ["append"]},
        {"tables": ["a.b"], "every": "15m", "min_files": 2, "min_rows": 10, "max_delay": 3600},
    ]
)


@st.composite
def steps(draw: st.DrawFn, prefix: str, depth: int) -> list[dict[str, Any]]:
    """A level of steps whose edges go forward only."""
    count = draw(st.integers(1, 3))
    ids = [f"{prefix}s{index}" for index in range(count)]
    found = []
    for index, name in enumerate(ids):
        later = ids[index + 1 :]
        targets = draw(st.lists(st.sampled_from(later), unique=True)) if later else []
        successors = {target: draw(st.sampled_from(CONDITIONS)) for target in targets}
        found.append(draw(step(name, successors, depth)))
    return found


@st.composite
def step(draw: st.DrawFn, name: str, successors: dict[str, str], depth: int) -> dict[str, Any]:
    common = without_none(
        {
            "id": name,
            "name": draw(st.none() | TEXTS),
            "description": draw(st.none() | TEXTS),
            "transition": {"successors": successors},
            "failure_mode": draw(st.sampled_from([None, "IGNORE_FAILURE", "FAIL_IMMEDIATELY"])),
            "tags": draw(TAGS),
            "timeout": draw(OPTIONAL_TIMEOUT),
            "signal_dependencies": draw(DEPENDENCIES),
            "signal_outputs": draw(OUTPUTS),
            "params": draw(PARAMS),
        }
    )
    kind = draw(st.sampled_from(["step", "subworkflow", *(["foreach", "while"] if depth else [])]))
    if kind == "step":
        extra: dict[str, Any] = {
            "type": draw(st.sampled_from(["NoOp", "Spark", "Sql"])),
            "retry_policy": draw(RETRIES),
        }
        return {kind: common | without_none(extra)}
    if kind == "subworkflow":
        common["params"]["subworkflow_id"] = draw(params_of(("STRING",)))
        if draw(st.booleans()):
            common["params"]["subworkflow_version"] = draw(params_of(("STRING",)))
        return {
            kind: common
            | without_none(
                {"sync": draw(st.none() | st.booleans()), "explicit_params": draw(st.none() | st.booleans())}
            )
        }
    types = ("LONG_ARRAY", "STRING_ARRAY") if kind == "foreach" else ("LONG", "STRING", "BOOLEAN")
    loop = draw(
        st.dictionaries(
            st.sampled_from(["i", "j"]).map(lambda it: it + name), params_of(types), min_size=1, max_size=2
        )
    )
    common["params"]["loop_params"] = {"value": loop, "type": "MAP"}
    own = (
        {
            "concurrency": draw(st.none() | st.integers(1, 500)),
            "strict_ordering": draw(st.none() | st.booleans()),
        }
        if kind == "foreach"
        else {"condition": draw(st.sampled_from(CONDITIONS))}
    )
    return {kind: common | without_none(own) | {"steps": draw(steps(name, depth - 1))}}


@st.composite
def requests(draw: st.DrawFn) -> dict[str, Any]:
    """A push in Maestro's JSON form."""
    workflow = without_none(
        {
            "id": draw(st.sampled_from(["flow", "a.b-c", "1x"])),
            "name": draw(st.none() | TEXTS),
            "description": draw(st.none() | TEXTS),
            "tags": draw(TAGS),
            "timeout": draw(OPTIONAL_TIMEOUT),
            "time_triggers": draw(st.lists(TIME_TRIGGERS, max_size=2)),
            "signal_triggers": draw(st.lists(SIGNAL_TRIGGERS, max_size=2)),
            "incremental_triggers": draw(st.lists(INCREMENTAL, max_size=2)),
            "criticality": draw(st.sampled_from([None, "HIGH"])),
            "instance_step_concurrency": draw(st.none() | st.integers(1, 999)),
            "params": draw(PARAMS),
            "steps": draw(steps("", 2)),
        }
    )
    properties = without_none(
        {
            "owner": draw(st.sampled_from([None, "alice", {"name": "bob", "team": "x"}])),
            "run_strategy": draw(st.sampled_from(["sequential", "last_only", 20, 7])),
            "step_concurrency": draw(st.integers(1, 1000)),
            "alerting": draw(st.sampled_from([None, {"emails": ["a@b.c"]}])),
            "description": draw(st.none() | TEXTS),
        }
    )
    rest = {
        "is_active": draw(st.booleans()),
        "git_info": draw(st.sampled_from([None, {"sha": "abc"}])),
        "team": draw(TEXTS),
    }
    return {"properties": properties, "workflow": workflow, **without_none(rest)}


DAMAGE = (
    st.none()
    | st.booleans()
    | st.integers()
    | TEXTS
    | st.sampled_from(
        ["${x", "a -> ", "IF THEN", [], {}, [[1]], [{}], {"a": None}, {"": 1}, 1.5, "9" * 5000, 10**30]
    )
)


def damaged(data: st.DataObject, document: Any) -> Any:
    """A copy in which one or two places hold something else."""
    made = copy.deepcopy(document)
    for _ in range(data.draw(st.integers(1, 2))):
        target, key = made, None
        while isinstance(target, dict | list) and target:
            keys = list(target) if isinstance(target, dict) else list(range(len(target)))
            key = data.draw(st.sampled_from(keys))
            inner = target[key]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 5)) == 0:
                break
            target = inner
        if key is not None:
            target[key] = data.draw(DAMAGE)
    return made
