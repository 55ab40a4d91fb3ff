"""Panel of a log: its timeline, and other logs beside it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from cnoid_control.log import RunLog
from cnoid_control.viewer.frame import RUNNING, Frame
from cnoid_control.viewer.robot_nodes import RobotNodes

if TYPE_CHECKING:
    from cnoid_control.viewer.log_source import LogSource
    from cnoid_control.viewer.page import Page

# Wall-clock time between two refreshes of the slider [s].
PERIOD = 0.1
SPEEDS = ('0.1', '0.25', '0.5', '1', '2', '5', '10')
COLORS = ((240, 140, 40), (60, 140, 230), (170, 90, 200), (60, 170, 110))
OPACITY = 0.45
NO_EVENT = '(go to an event)'


class Ghost:
    """Robot of another log, at the time that is shown."""

    def __init__(self, page: Page, log: RunLog, number: int) -> None:
        """Add its nodes and its switch."""
        self._log = log
        self._body = log.body()
        self._body.calc_forward_kinematics()
        color = COLORS[number % len(COLORS)]
        self._nodes = RobotNodes(
            page.server.scene, self._body, f'/log_{number + 1}', color, OPACITY
        )
        self._switch = page.server.gui.add_checkbox(log.path.name, True, hint='shown beside it')
        self._switch.on_update(lambda _: setattr(self._nodes.root, 'visible', self._switch.value))
        self._tick = -1

    def show(self, now: float) -> None:
        """Move it to where it was at a time [s]; at its ends it stands."""
        tick = self._log.tick_at(now)
        if tick != self._tick and self._switch.value:
            self._tick = tick
            self._log.put(self._body, tick)
            self._nodes.move(self._body)


class TimelinePanel:
    """Time, play and pause, speed, single ticks, events; who looks may do all of it."""

    def __init__(self, page: Page, source: LogSource) -> None:
        """Add it to the panel that is open."""
        self._page, self._source = page, source
        gui, player = page.server.gui, source.player
        self._text = gui.add_markdown('…')
        self._time: Any = gui.add_slider(
            'time [s]',
            min=player.begin,
            max=max(player.end, player.begin + 1e-3),
            step=1e-3,
            initial_value=player.begin,
        )
        self._time.on_update(self._scrubbed)
        self._go = gui.add_button('Play')
        self._go.on_click(lambda _: self._ask('pause' if player.is_playing else 'resume'))
        self._steps = gui.add_button_group('tick', ('-100', '-10', '-1', '+1', '+10', '+100'))
        self._steps.on_click(lambda event: self._ask('step', count=int(event.target.value)))
        self._speed = gui.add_button_group('speed', SPEEDS)
        self._speed.on_click(lambda event: self._ask('speed', value=float(event.target.value)))
        self._written = 0.0
        self._is_playing = False
        if source.events:
            labels = [f'{when:.2f} s  {what}' for when, what in source.events]
            self._times = dict(zip(labels, (when for when, _ in source.events), strict=True))
            self._events = gui.add_dropdown('events', [NO_EVENT, *self._times])
            self._events.on_update(self._chosen)
        self._ghosts: list[Ghost] = []
        if source.others:
            with gui.add_folder('Other logs'):
                self._ghosts = [
                    Ghost(page, log, number) for number, log in enumerate(source.others)
                ]

    def _ask(self, action: str, **arguments: Any) -> None:
        self._source.act(action, **arguments)

    def _scrubbed(self, event: Any) -> None:
        # What the panel itself has set is no wish.
        if event.client is not None:
            self._ask('seek', time=float(self._time.value))

    def _chosen(self, event: Any) -> None:
        if event.client is not None and self._events.value in self._times:
            self._ask('seek', time=self._times[self._events.value])

    def describe(self, description: object) -> None:
        """A log does not change."""

    def show(self, frame: Frame) -> None:
        """Follow the time."""
        for ghost in self._ghosts:
            ghost.show(frame.time)
        now = time.monotonic()
        playing = frame.state == RUNNING
        if playing and self._is_playing and now < self._written + PERIOD:
            return
        self._written = now
        if playing != self._is_playing:
            self._is_playing = playing
            self._go.label = 'Pause' if playing else 'Play'
        reason = f': {frame.reason}' if frame.reason else ''
        text = f'**{frame.time:.3f} s** of {self._source.player.end:.3f} s · tick {frame.tick}'
        self._text.content = f'{text}\n\n{frame.state}{reason} · {frame.controller}'
        if abs(self._time.value - frame.time) > 5e-4:
            self._time.value = frame.time
