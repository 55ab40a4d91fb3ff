"""What a composition consists of, in text."""

from __future__ import annotations

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
