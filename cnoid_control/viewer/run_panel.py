"""Panel of the run: its state, its controller, its pace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cnoid_control.viewer.frame import PAUSED, READY, Frame
from cnoid_control.viewer.source import Description

if TYPE_CHECKING:
    from cnoid_control.viewer.page import Page

# Time between two refreshes of the text [s].
PERIOD = 0.2
FREE = 'free'
SPEEDS = {'0.1': 0.1, '0.25': 0.25, '0.5': 0.5, '1': 1.0, '2': 2.0, '5': 5.0, FREE: 0.0}


class RunPanel:
    """State of the run; where the page may act, what starts, stops and swaps it."""

    def __init__(self, page: Page) -> None:
        """Add it to the panel that is open."""
        self._page = page
        gui = page.server.gui
        self._text = gui.add_markdown('…')
        self._written = 0.0
        self._state = ''
        self._is_paused = False
        self._controller: Any = None
        if not page.may_act:
            return
        self._controller = gui.add_dropdown('controller', ['…'], hint='another one takes over')
        self._controller.on_update(self._swap)
        self._go = gui.add_button('Pause')
        self._go.on_click(self._pause_or_resume)
        self._step = gui.add_button('Single step', hint='one tick, in a pause')
        self._step.on_click(lambda event: self._ask(event, 'step'))
        self._reset = gui.add_button('Reset', hint='back to the start, with fresh controllers')
        self._reset.on_click(lambda event: self._ask(event, 'reset'))
        self._speed = gui.add_button_group(
            'speed', tuple(SPEEDS), hint='simulated time per wall-clock time; free: no limit'
        )
        self._speed.on_click(
            lambda event: self._ask(event, 'speed', value=SPEEDS[event.target.value])
        )

    def describe(self, description: Description) -> None:
        """Follow a description."""
        if self._controller is None:
            return
        refusals = description.refusals
        self._controller.options = tuple(description.controllers) or ('…',)
        if description.controller in description.controllers:
            self._controller.value = description.controller
        for action, widget in (
            ('swap', self._controller),
            ('step', self._step),
            ('reset', self._reset),
            ('speed', self._speed),
            ('pause', self._go),
        ):
            widget.disabled = action in refusals
            if action in refusals:
                widget.hint = refusals[action]

    def show(self, frame: Frame) -> None:
        """Write how it stands, a few times a second."""
        now = time.monotonic()
        if frame.state == self._state and now < self._written + PERIOD:
            return
        self._written, self._state = now, frame.state
        reason = f': {frame.reason}' if frame.reason else ''
        lines = [
            f'**{frame.state}**{reason}',
            f'{frame.time:.2f} s · {frame.speed:.2f} times real time · {frame.controller}',
        ]
        if frame.compute.size:
            mean, longest = 1e3 * frame.compute
            lines.append(f'control {mean:.3f} ms, longest {longest:.3f} ms')
        for kind, joints in frame.limited.items():
            names = ', '.join(joints[:4]) + (' …' if len(joints) > 4 else '')
            lines.append(f'limit {kind}: {names}')
        self._text.content = '\n\n'.join(lines)
        is_paused = frame.state in (PAUSED, READY)
        if self._controller is not None and is_paused != self._is_paused:
            self._is_paused = is_paused
            word = 'Start' if frame.state == READY else 'Resume'
            self._go.label = word if is_paused else 'Pause'

    def _ask(self, event: Any, action: str, **arguments: Any) -> None:
        self._page.act(event.client, action, **arguments)

    def _pause_or_resume(self, event: Any) -> None:
        self._ask(event, 'resume' if self._is_paused else 'pause')

    def _swap(self, event: Any) -> None:
        wanted = event.target.value
        # What the page itself has set is no wish.
        if event.client is None or wanted == self._page.description.controller:
            return
        if not self._page.act(event.client, 'swap', controller=wanted):
            event.target.value = self._page.description.controller
