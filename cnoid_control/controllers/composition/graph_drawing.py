"""Drawing of a composition: boxes in boxes, with arrows that pass each other and all texts."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.multi import MultiController
from cnoid_control.controllers.composition.state_machine import FINISHED, StateMachineController

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Sizes [in]: heights of lines, room about texts, distance of boxes and of arrows side by side.
LINE, SMALL_LINE, PAD, GAP, LANE = 0.15, 0.125, 0.12, 0.3, 0.14
# A port is where an arrow meets a box.
PORT = 0.07
# Characters of a line of a condition, and parts side by side that nothing connects.
LABEL_WIDTH, MAX_BESIDE = 34, 4
FONT, SMALL_FONT = 8.0, 7.0
DOWN, UP, LOOP = '#b22222', '#1f4e9c', '#2e7d32'
FILLED, EMPTY, PSEUDO = 'lightsteelblue', 'white', '0.9'
# What arrows may begin or end at that is no part, by keys that no part has.
INPUTS, OUTPUTS = ('inputs',), ('outputs',)
NO_PARTS = {FINISHED: 'end', INPUTS: 'inputs', OUTPUTS: 'outputs'}


@dataclass
class Arrow:
    """Arrow between two of the parts of a box.

    Attributes:
        source, target: places of the parts in the column.
        label: lines beside it.
        lane: how many others it passes outside, on its side of the column.
        begin, end: heights at which it leaves and arrives [in], set when the column is laid out.
    """

    source: int
    target: int
    label: list[str]
    lane: int = 0
    begin: float = 0.0
    end: float = 0.0

    @property
    def side(self) -> int:
        """1 where it runs on the right of the column, downwards or in a loop; else -1."""
        return 1 if self.target >= self.source else -1

    @property
    def color(self) -> str:
        """Colour of its kind."""
        return LOOP if self.source == self.target else DOWN if self.side > 0 else UP

    @property
    def span(self) -> int:
        """How many parts further it leads."""
        return abs(self.target - self.source)


@dataclass
class Box:
    """Box of a part, with its own parts inside, all lengths in inches.

    Attributes:
        lines: name and kind.
        fill: colour.
        is_start: whether it is what begins.
        parts: boxes inside.
        arrows: between those.
        x, y: left and upper edge, from the upper left corner of the box about it.
        width, height: size.
        straight: arrows to the next part below, by the place where they begin.
        lanes: x of the first lane on the left and on the right.
    """

    lines: list[str]
    fill: str
    is_start: bool = False
    parts: list[Box] = field(default_factory=list)
    arrows: list[Arrow] = field(default_factory=list)
    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    straight: dict[int, Arrow] = field(default_factory=dict)
    lanes: dict[int, float] = field(default_factory=dict)


def draw_graph(controller: BaseController, path: str | Path, name: str = 'controller') -> None:
    """Draw a composition into a picture file: boxes in boxes, arrows for transitions."""
    graph_figure(controller, name).savefig(path, dpi=120)


def graph_figure(controller: BaseController, name: str = 'controller') -> Figure:
    """Figure of a composition, an inch of its axes an inch on paper."""
    # The canvas is used directly so that no display and no global state is involved.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    box = _make_box(controller, name)
    _lay_out(box)
    width, height = box.width + 2 * PAD, box.height + 2 * PAD
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(-PAD, box.width + PAD)
    axes.set_ylim(box.height + PAD, -PAD)
    axes.set_axis_off()
    _draw(axes, box, 0.0, 0.0)
    return figure


# --- what there is ---------------------------------------------------------------------


def _make_box(controller: BaseController, name: Any, is_start: bool = False) -> Box:
    children = controller.children()
    mark = ' (start)' if is_start else ''
    box = Box([f'{name}{mark}', controller.describe()], EMPTY if children else FILLED, is_start)
    labels = _labels(controller)
    keys: list[Any] = list(children)
    ends = list(dict.fromkeys(key for pair in labels for key in pair if key not in children))
    # What is no part is at the top where arrows only leave it, else at the bottom.
    above = [key for key in ends if any(source == key for source, _ in labels)]
    keys = [*above, *keys, *(key for key in ends if key not in above)]
    for key in keys:
        if key in children:
            starts = isinstance(controller, StateMachineController) and key == controller.start
            box.parts.append(_make_box(children[key], key, starts))
        else:
            box.parts.append(Box([NO_PARTS[key]], PSEUDO))
    for (source, target), label in labels.items():
        box.arrows.append(Arrow(keys.index(source), keys.index(target), label))
    return box


def _labels(controller: BaseController) -> dict[tuple[Any, Any], list[str]]:
    """Lines beside the arrows of a controller, by source and target."""
    found: dict[tuple[Any, Any], list[str]] = defaultdict(list)
    if isinstance(controller, StateMachineController):
        for source, target, when in controller.transitions():
            label = textwrap.wrap(when, LABEL_WIDTH)
            found[source, target] += label
    elif isinstance(controller, MultiController):
        for producer, item, consumer, name in controller.links():
            origin = INPUTS if producer is None else producer
            end = OUTPUTS if consumer is None else consumer
            found[origin, end] += textwrap.wrap(
                name if name == item else f'{item} as {name}', LABEL_WIDTH
            )
    return found


# --- where it goes ---------------------------------------------------------------------


def _text_width(text: str, size: float) -> float:
    from matplotlib.textpath import TextPath

    # What is drawn is up to a pixel a letter wider.
    return 1.06 * float(TextPath((0, 0), text, size=size).get_extents().width) / 72.0


def _label_width(arrows: Sequence[Arrow]) -> float:
    return max(
        (_text_width(line, SMALL_FONT) for arrow in arrows for line in arrow.label), default=0.0
    )


def _lay_out(box: Box) -> None:
    for part in box.parts:
        _lay_out(part)
    title = LINE * len(box.lines) + 2 * PAD
    width = max(_text_width(line, FONT) for line in box.lines) + 2 * PAD
    if box.arrows:
        inner, height = _lay_out_column(box, title)
    else:
        inner, height = _lay_out_rows(box, title)
    wider = max(0.0, width - inner)
    for part in box.parts:
        part.x += wider / 2
    box.lanes = {side: x + wider / 2 for side, x in box.lanes.items()}
    box.width, box.height = max(width, inner), height


def _lay_out_rows(box: Box, top: float) -> tuple[float, float]:
    """Put parts that nothing connects beside each other; width and height of all."""
    width = 0.0
    for first in range(0, len(box.parts), MAX_BESIDE):
        row = box.parts[first : first + MAX_BESIDE]
        x = GAP
        for part in row:
            part.x, part.y = x, top
            x += part.width + GAP
        width = max(width, x)
        top += max(part.height for part in row) + GAP
    return width, top


def _lay_out_column(box: Box, top: float) -> tuple[float, float]:
    """Put parts below each other, with their arrows beside them; width and height of all."""
    for arrow in box.arrows:
        if arrow.target == arrow.source + 1:
            box.straight[arrow.source] = arrow
    others = [arrow for arrow in box.arrows if arrow not in box.straight.values()]
    for place, part in enumerate(box.parts):
        part.y = top
        room = [_set_ports(part, place, others, side) for side in (-1, 1)]
        part.height = max(part.height, *room)
        label = box.straight[place].label if place in box.straight else []
        top += part.height + GAP + SMALL_LINE * len(label)
    _set_lanes(others)
    column = max(part.width for part in box.parts)
    room_beside = {}
    for side in (-1, 1):
        mine = [arrow for arrow in others if arrow.side == side]
        room_beside[side] = _label_width(mine) + 2 * PAD if mine else GAP
    # Labels of straight arrows stand on the right of the middle.
    beyond = _label_width(list(box.straight.values())) + 2 * PAD - column / 2
    room_beside[1] = max(room_beside[1], beyond)
    number = {
        side: 1 + max((arrow.lane for arrow in others if arrow.side == side), default=-1)
        for side in (-1, 1)
    }
    left = GAP + LANE * number[-1]
    middle = left + room_beside[-1] + column / 2
    for part in box.parts:
        part.x = middle - part.width / 2
    right = middle + column / 2 + room_beside[1]
    box.lanes = {-1: left, 1: right}
    return right + LANE * number[1] + GAP, top


def _set_ports(part: Box, place: int, arrows: Sequence[Arrow], side: int) -> float:
    """Heights where arrows leave and reach a part on a side; the height that this takes.

    In such an order that of two arrows to the same side none has to cross the other.
    """
    mine = [arrow for arrow in arrows if arrow.side == side]
    loops = [arrow for arrow in mine if arrow.source == arrow.target == place]
    leaving = [arrow for arrow in mine if arrow.source == place and arrow not in loops]
    arriving = [arrow for arrow in mine if arrow.target == place and arrow not in loops]
    leaving.sort(key=lambda arrow: -side * arrow.span)
    arriving.sort(key=lambda arrow: side * arrow.span)
    first = [(arrow, False) for arrow in arriving]
    last = [(arrow, True) for arrow in leaving]
    turns = [(arrow, begins) for arrow in loops for begins in (True, False)]
    ports = [*first, *turns, *last] if side > 0 else [*last, *turns, *first]
    y = part.y + PORT
    for arrow, begins in ports:
        if begins:
            y += max(PORT, SMALL_LINE * len(arrow.label) + 0.02)
            arrow.begin = y
        else:
            y += PORT
            arrow.end = y
        y += PORT
    return y - part.y + PORT if ports else 0.0


def _set_lanes(arrows: Sequence[Arrow]) -> None:
    """Run arrows that share heights in lanes of their own, short ones inside."""
    taken: list[tuple[int, int, float, float]] = []
    for arrow in sorted(arrows, key=lambda arrow: (arrow.span, arrow.begin)):
        low, high = sorted((arrow.begin, arrow.end))
        while any(
            side == arrow.side and lane == arrow.lane and low - PORT < end and begin < high + PORT
            for side, lane, begin, end in taken
        ):
            arrow.lane += 1
        taken.append((arrow.side, arrow.lane, low, high))


# --- drawing ---------------------------------------------------------------------


def _draw(axes: Axes, box: Box, x: float, y: float) -> None:
    from matplotlib.patches import FancyBboxPatch

    axes.add_patch(
        FancyBboxPatch(
            (x, y),
            box.width,
            box.height,
            boxstyle='round,pad=0,rounding_size=0.05',
            facecolor=box.fill,
            edgecolor='black',
            linewidth=1.8 if box.is_start else 0.8,
        )
    )
    for number, line in enumerate(box.lines):
        axes.text(
            x + box.width / 2,
            y + PAD + LINE * (number + 0.5),
            line,
            ha='center',
            va='center',
            fontsize=FONT,
            color='black' if number == 0 else '0.35',
        )
    for part in box.parts:
        _draw(axes, part, x + part.x, y + part.y)
    for arrow in box.arrows:
        if box.straight.get(arrow.source) is arrow:
            _draw_straight(axes, box, arrow, x, y)
        else:
            _draw_around(axes, box, arrow, x, y)


def _draw_straight(axes: Axes, box: Box, arrow: Arrow, x: float, y: float) -> None:
    source, target = box.parts[arrow.source], box.parts[arrow.target]
    middle = x + source.x + source.width / 2
    begin, end = y + source.y + source.height, y + target.y
    _draw_line(axes, [(middle, begin), (middle, end)], arrow)
    height = (begin + end - SMALL_LINE * (len(arrow.label) - 1)) / 2 - 0.03
    _draw_label(axes, arrow, middle + PAD / 2, height, 'left')


def _draw_around(axes: Axes, box: Box, arrow: Arrow, x: float, y: float) -> None:
    source, target = box.parts[arrow.source], box.parts[arrow.target]
    right = arrow.side > 0
    lane = x + box.lanes[arrow.side] + arrow.side * LANE * arrow.lane
    leaves = x + source.x + (source.width if right else 0.0)
    arrives = x + target.x + (target.width if right else 0.0)
    begin, end = y + arrow.begin, y + arrow.end
    _draw_line(axes, [(leaves, begin), (lane, begin), (lane, end), (arrives, end)], arrow)
    height = begin - SMALL_LINE * (len(arrow.label) - 0.5) - 0.01
    align = 'left' if right else 'right'
    _draw_label(axes, arrow, leaves + arrow.side * PAD / 2, height, align)


def _draw_line(axes: Axes, points: Sequence[tuple[float, float]], arrow: Arrow) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path as Curve

    axes.add_patch(
        FancyArrowPatch(
            path=Curve(points),
            arrowstyle='-|>',
            mutation_scale=7,
            linewidth=0.9,
            color=arrow.color,
            joinstyle='round',
            shrinkA=0,
            shrinkB=0,
        )
    )


def _draw_label(axes: Axes, arrow: Arrow, x: float, y: float, align: str) -> None:
    for number, line in enumerate(arrow.label):
        height = y + SMALL_LINE * number
        axes.text(x, height, line, ha=align, va='center', fontsize=SMALL_FONT, color=arrow.color)
