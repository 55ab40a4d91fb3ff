"""What a composition consists of, in text and as a drawing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cnoid_control.controllers.composition.base_controller import BaseController
from cnoid_control.controllers.composition.multi import MultiController
from cnoid_control.controllers.composition.state_machine import FINISHED, StateMachineController


def graph_text(controller: BaseController, name: str = 'controller') -> str:
    """Tree of a composition, a line a part, with transitions and connections."""
    lines = [f'{name}: {controller.describe()}']
    _add_children(controller, '', lines)
    return '\n'.join(lines)


def _add_children(controller: BaseController, indent: str, lines: list[str]) -> None:
    notes = _notes(controller)
    children = list(controller.children().items())
    for i, (key, child) in enumerate(children):
        last = i == len(children) - 1
        mark = ' (start)' if _is_start(controller, key) else ''
        lines.append(f'{indent}{"└─" if last else "├─"} {key}: {child.describe()}{mark}')
        below = indent + ('   ' if last else '│  ')
        _add_children(child, below, lines)
        lines += [f'{below}{note}' for note in notes.get(key, [])]
    lines += [f'{indent}   {note}' for note in notes.get(None, [])]


def _is_start(controller: BaseController, key: Any) -> bool:
    return isinstance(controller, StateMachineController) and key == controller.start


def _notes(controller: BaseController) -> dict[Any, list[str]]:
    notes: dict[Any, list[str]] = {}
    if isinstance(controller, StateMachineController):
        for source, target, when in controller.transitions():
            place = 'end' if target == FINISHED else target
            notes.setdefault(source, []).append(f'→ {place}' + (f': {when}' if when else ''))
    elif isinstance(controller, MultiController):
        for producer, item, consumer, name in controller.links():
            origin = 'inputs' if producer is None else producer
            notes.setdefault(consumer, []).append(f'← {name} = {item} of {origin}')
    return notes


def draw_graph(controller: BaseController, path: str | Path, name: str = 'controller') -> None:
    """Draw a composition into a picture file: boxes in boxes, arrows for transitions."""
    import matplotlib.pyplot as plt

    width, height = _size(controller)
    figure, axes = plt.subplots(figsize=(1.2 + 1.9 * width, 0.8 + 0.9 * height))
    _draw(axes, controller, name, 0.0, 0.0)
    axes.set_xlim(-0.3, width + 0.3)
    axes.set_ylim(-0.2, height + 0.2)
    axes.axis('off')
    figure.savefig(path, dpi=120, bbox_inches='tight')
    plt.close(figure)


def _size(controller: BaseController) -> tuple[float, float]:
    """Width and height of a box: its parts beside each other, a title above them."""
    sizes = [_size(child) for child in controller.children().values()]
    if not sizes:
        return 1.3, 0.8
    return sum(width for width, _ in sizes) + 0.5 * (len(sizes) + 1), (
        max(height for _, height in sizes) + 1.3
    )


def _draw(axes: Any, controller: BaseController, name: Any, x: float, y: float) -> None:
    width, height = _size(controller)
    axes.add_patch(
        _box(x, y, width, height, 'white' if controller.children() else 'lightsteelblue')
    )
    title = f'{name}\n{controller.describe()}'
    axes.text(x + width / 2, y + height - 0.12, title, ha='center', va='top', fontsize=7)
    places: dict[Any, tuple[float, float, float]] = {}
    left = x + 0.5
    for key, child in controller.children().items():
        size = _size(child)
        _draw(axes, child, key, left, y + 0.6)
        places[key] = (left + size[0] / 2, y + 0.6, size[0])
        left += size[0] + 0.5
    if isinstance(controller, StateMachineController):
        for source, target, when in controller.transitions():
            _arrow(axes, places, source, target, when)


def _box(x: float, y: float, width: float, height: float, color: str) -> Any:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch(
        (x, y), width, height, boxstyle='round,pad=0.02', facecolor=color, edgecolor='black'
    )


def _arrow(
    axes: Any, places: dict[Any, tuple[float, float, float]], source: Any, target: Any, when: str
) -> None:
    x, y, _ = places[source]
    end = (x + 0.6, y - 0.45) if target == FINISHED else (places[target][0], y)
    # The bow of an arc grows with its length; all are to hang down equally.
    bow = 0.6 / max(abs(end[0] - x), 0.6)
    style = f'arc3,rad={bow if end[0] >= x else -bow:g}'
    axes.annotate(
        '',
        xy=end,
        xytext=(x, y),
        arrowprops={'arrowstyle': '->', 'connectionstyle': style, 'color': 'firebrick'},
    )
    label = f'{when} → end' if target == FINISHED else when
    axes.text((x + end[0]) / 2, y - 0.3, label, ha='center', fontsize=6, color='firebrick')
