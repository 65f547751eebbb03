"""A directed graph laid out in layers, from left to right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from calve.ui.drawing.layers import Layered, layer

BOX_HEIGHT = 40
_ROW = 58
_COLUMN_GAP = 64
_MARGIN = 12
_MIN_WIDTH, _MAX_WIDTH = 72, 230
#: A character of a label, at the size in which the stylesheet sets it.
_CHARACTER = 7.4
_NOTE_CHARACTER = 6.1
_PADDING = 34

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Box:
    """A node on the picture; `x` and `y` are its upper left corner."""

    id: str
    x: float
    y: float
    width: float
    label: str


@dataclass(frozen=True, slots=True)
class Line:
    """An edge on the picture, as a path of SVG; `middle` is where a text may stand."""

    source: str
    target: str
    path: str
    middle: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph with a place for everything."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain data, for a page and its twin."""
        return {
            "width": self.width,
            "height": self.height,
            "box_height": BOX_HEIGHT,
            "boxes": [
                {"id": box.id, "x": box.x, "y": box.y, "width": box.width, "label": box.label}
                for box in self.boxes
            ],
            "lines": [
                {"source": line.source, "target": line.target, "path": line.path, "middle": line.middle}
                for line in self.lines
            ],
        }


def draw_graph(
    labels: Mapping[str, str], edges: Sequence[Edge], notes: Mapping[str, str] | None = None
) -> Picture:
    """Place the nodes (id → label) and the edges between them; an edge that names no node is left out.

    Boxes are wide enough for their label and for the note below it, up to a limit.
    """
    known = [edge for edge in dict.fromkeys(edges) if edge[0] in labels and edge[1] in labels]
    layered = layer(list(labels), known)
    widths = {node: _width(label, (notes or {}).get(node, "")) for node, label in labels.items()}
    columns = _columns(layered, widths)
    boxes = {
        node: Box(
            node, columns[place.layer][0], _MARGIN + place.row * _ROW, widths[node], _shorten(labels[node])
        )
        for node, place in layered.nodes.items()
    }
    lines = tuple(_line(edge, boxes, layered, columns) for edge in known)
    right = max((box.x + box.width for box in boxes.values()), default=0.0)
    return Picture(
        round(right + _MARGIN, 1),
        round(layered.rows * _ROW - (_ROW - BOX_HEIGHT) + 2 * _MARGIN, 1) if boxes else 0.0,
        tuple(boxes.values()),
        lines,
    )


def _width(label: str, note: str) -> float:
    wanted = max(len(label) * _CHARACTER, len(note) * _NOTE_CHARACTER) + _PADDING
    return round(min(max(wanted, _MIN_WIDTH), _MAX_WIDTH), 1)


def _shorten(label: str) -> str:
    most = int((_MAX_WIDTH - _PADDING) / _CHARACTER)
    return label if len(label) <= most else label[: most - 1] + "…"


def _columns(layered: Layered, widths: Mapping[str, float]) -> list[tuple[float, float]]:
    """Left edge and width of each layer."""
    found = [0.0] * layered.layers
    for node, place in layered.nodes.items():
        found[place.layer] = max(found[place.layer], widths[node])
    columns: list[tuple[float, float]] = []
    left = float(_MARGIN)
    for width in found:
        columns.append((left, width))
        left += width + _COLUMN_GAP
    return columns


def _line(
    edge: Edge, boxes: Mapping[str, Box], layered: Layered, columns: Sequence[tuple[float, float]]
) -> Line:
    source, target = boxes[edge[0]], boxes[edge[1]]
    half = BOX_HEIGHT / 2
    points = [(source.x + source.width, source.y + half)]
    for place in layered.bends.get(edge, ()):
        left, width = columns[place.layer]
        y = _MARGIN + place.row * _ROW + half
        points += [(left, y), (left + width, y)]
    points.append((target.x, target.y + half))
    middle = points[len(points) // 2 - 1], points[len(points) // 2]
    return Line(*edge, _curve(points), (_mean(middle[0][0], middle[1][0]), _mean(middle[0][1], middle[1][1])))


def _curve(points: Sequence[tuple[float, float]]) -> str:
    path = f"M{points[0][0]:g} {points[0][1]:g}"
    for (x0, y0), (x1, y1) in pairwise(points):
        bend = _mean(x0, x1)
        path += f"L{x1:g} {y1:g}" if y0 == y1 else f"C{bend:g} {y0:g} {bend:g} {y1:g} {x1:g} {y1:g}"
    return path


def _mean(a: float, b: float) -> float:
    return round((a + b) / 2, 1)
