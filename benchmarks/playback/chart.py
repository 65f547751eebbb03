"""The figures as a picture: both pairs by stage, then the ways of each stage as parts of the lookback."""

from __future__ import annotations

from collections.abc import Iterator
from xml.sax.saxutils import escape

from benchmarks.playback.figures import Results

_WIDTH, _LEFT, _BAR, _GAP = 900, 400, 18, 8
_LOOKBACK, _INCREMENTAL, _OTHER = "#9aa5b1", "#1f7a8c", "#bfd7dc"
_Row = tuple[str, float, str, str]


def draw(results: Results) -> str:
    """An SVG of bars: task CPU of a daily cycle."""
    sections = [("Task CPU of one daily cycle, in seconds", list(_pairs(results)))]
    sections += [
        (f"Stage {stage}: task CPU as part of the lookback's", rows)
        for stage in (1, 2)
        if (rows := list(_ways(results, stage)))
    ]
    y, parts = 10, []
    for title, rows in sections:
        y += 26
        parts.append(f'<text x="16" y="{y}" class="title">{escape(title)}</text>')
        y += 12
        longest = max(value for _, value, _, _ in rows)
        for label, value, shown, colour in rows:
            length = max((_WIDTH - _LEFT - 120) * value / longest, 1)
            middle = y + _BAR - 5
            parts += [
                f'<text x="{_LEFT - 10}" y="{middle}" class="label">{escape(label)}</text>',
                f'<rect x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" fill="{colour}"/>',
                f'<text x="{_LEFT + length + 6:.1f}" y="{middle}">{escape(shown)}</text>',
            ]
            y += _BAR + _GAP
    style = (
        "text{font:13px sans-serif;fill:#222}.title{font-weight:bold;font-size:15px}.label{text-anchor:end}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{y + 12}" '
        f'viewBox="0 0 {_WIDTH} {y + 12}"><style>{style}</style>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def _pairs(results: Results) -> Iterator[_Row]:
    for name, stage in (("stage 1", 0), ("stage 2", 1), ("both", None)):
        lookback = results.mean("lookback", stage).task_cpu_seconds
        incremental = results.mean("incremental", stage).task_cpu_seconds
        yield f"{name}, lookback of 14 days", lookback, f"{lookback:,.1f} s", _LOOKBACK
        share = results.share("task_cpu_seconds", stage)
        yield f"{name}, incremental", incremental, f"{incremental:,.1f} s = {share:.1%}", _INCREMENTAL


def _ways(results: Results, stage: int) -> Iterator[_Row]:
    lookback = results.mean("lookback", stage - 1).task_cpu_seconds
    for tried in results.tried:
        if tried.stage == stage:
            share = tried.cost.task_cpu_seconds / lookback
            colour = _INCREMENTAL if "tuned" in tried.name else _OTHER
            yield _short(tried.name), share, f"{share:.1%}", colour


def _short(name: str, longest: int = 58) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
