"""The page: one for a run, a running ROS system and a log."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import viser

from cnoid_control.exceptions import CnoidControlError, describe
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.gate import Route
from cnoid_control.viewer.log_source import LogSource
from cnoid_control.viewer.option_panel import OptionPanel
from cnoid_control.viewer.plots import LivePlots
from cnoid_control.viewer.push_panel import PushPanel
from cnoid_control.viewer.run_panel import RunPanel
from cnoid_control.viewer.scene import Scene
from cnoid_control.viewer.server import PageServer
from cnoid_control.viewer.source import Description, Source
from cnoid_control.viewer.timeline_panel import TimelinePanel

# Time between two looks at the source [s].
PERIOD = 1.0 / 30.0
READ_ONLY = 'the view is read-only: it was not allowed to act'
# How long a notice stays [s].
NOTICE = 4.0
# Time until a description that nobody gave is asked for again [s].
RETRY_PERIOD = 1.0


class Page:
    """Shows a source to whoever opens the page, and passes on what they want of it.

    Attributes:
        source: what is shown.
        server: viser's server.
        scene: the picture.
        may_act: whether anything may be asked of the source.
    """

    def __init__(
        self,
        source: Source,
        host: str = '127.0.0.1',
        port: int = 0,
        token: str = '',
        act: bool = False,
    ) -> None:
        """Serve the page; `run` keeps it up to date.

        Args:
            source: what is shown.
            host: address to serve on.
            port: port; the first free one from 8080 on where 0.
            token: what who opens the page must know.
            act: whether anything may be asked of the source.

        Raises:
            CnoidControlError: the address cannot be served on.
        """
        self.source = source
        self.may_act = act
        self._shown: Frame | None = None
        self._shown_at = 0.0
        self._revision = -1
        self._asking = threading.Thread()
        self._failures: set[str] = set()
        self._description = source.describe()
        routes: dict[str, Route] = {'state': self._state, 'act': self._act}
        title = self._description.title
        self.server = PageServer(routes, host, port, token, title)
        gui = self.server.gui
        gui.configure_theme(show_logo=False, show_share_button=False)
        self.scene = Scene(self.server, source.body, source.config)
        self._tabs = gui.add_tab_group()
        self._push_panel: PushPanel | None = None
        self._options: OptionPanel | None = None
        self._run_panel: RunPanel | TimelinePanel
        with self._tabs.add_tab('Run', viser.Icon.PLAYER_PLAY):
            if isinstance(source, LogSource):
                self._run_panel = TimelinePanel(self, source)
            else:
                self._run_panel = RunPanel(self)
                self._push_panel = PushPanel(self) if act else None
        if not isinstance(source, LogSource):
            with self._tabs.add_tab('Options', viser.Icon.ADJUSTMENTS):
                self._options = OptionPanel(self)
        with self._tabs.add_tab('Plots', viser.Icon.CHART_LINE):
            self._plots = LivePlots(self.server, source.body)
        with self._tabs.add_tab('Scene', viser.Icon.EYE):
            self.scene.add_controls()
        self._describe()

    @property
    def url(self) -> str:
        """Address to open in a browser."""
        return self.server.url

    @property
    def description(self) -> Description:
        """What the source said last that can be done."""
        return self._description

    def run(self, is_over: Callable[[], bool]) -> None:
        """Keep the page up to date until it is over."""
        while not is_over():
            began = time.monotonic()
            try:
                self.update()
            except Exception as error:
                # One frame that cannot be drawn must not cost the page, nor fill the terminal.
                if describe(error) not in self._failures:
                    self._failures.add(describe(error))
                    traceback.print_exc()
            time.sleep(max(0.0, PERIOD - (time.monotonic() - began)))
        self.close()

    def update(self) -> None:
        """Show the newest frame, and do what was asked for by sliders and fields."""
        frame = self.source.frame()
        if self._options is not None:
            self._options.apply_pending()
        if frame is None:
            return
        if frame.revision != self._revision and not self._asking.is_alive():
            # Beside the picture: an answer may take a while.
            self._asking = threading.Thread(target=self._ask, args=(frame.revision,), daemon=True)
            self._asking.start()
        if frame is self._shown:
            return
        self._shown, self._shown_at = frame, time.monotonic()
        with self.server.atomic():
            self.scene.show(frame)
        self._run_panel.show(frame)
        self._plots.show(frame)

    def close(self) -> None:
        """Stop serving."""
        self.server.stop()

    def _ask(self, revision: int) -> None:
        """Get the description anew; where nobody answers, the next frame asks again."""
        try:
            self._description = self.source.describe()
        except CnoidControlError:
            time.sleep(RETRY_PERIOD)
            return
        self._revision = revision
        self._describe()

    def _describe(self) -> None:
        """Have all panels follow the description."""
        self._run_panel.describe(self._description)
        if self._options is not None:
            self._options.describe(self._description)
        if self._push_panel is not None:
            self._push_panel.describe(self._description)

    # --- what somebody wants ------------------------------------------------------------------

    def act(self, client: viser.ClientHandle | None, action: str, **arguments: Any) -> bool:
        """Ask the source for something, and tell who wanted it what came of it.

        An option shows its value itself, so that only a refusal is told.

        Returns:
            Whether it was done.
        """
        try:
            text = self.perform(action, **arguments)
        except CnoidControlError as error:
            if client is not None:
                client.add_notification(f'{action}: refused', str(error), color='red')
            return False
        if client is not None and action != 'option':
            client.add_notification(action, text, auto_close_seconds=NOTICE, color='green')
        return True

    def perform(self, action: str, **arguments: Any) -> str:
        """Ask the source for something.

        Raises:
            CnoidControlError: it is refused, or the page may not act.
        """
        if not self.may_act:
            raise CnoidControlError(READ_ONLY)
        return self.source.act(action, **arguments)

    # --- requests of the page's own script ----------------------------------------------------

    async def _state(self, query: dict[str, str]) -> dict[str, Any]:
        frame, description = self._shown, self._description
        state: dict[str, Any] = {
            'act': self.may_act,
            'clients': len(self.server.get_clients()),
            'title': description.title,
            'refusals': description.refusals,
            'age': time.monotonic() - self._shown_at,
        }
        if frame is not None:
            state |= {
                'time': frame.time,
                'state': frame.state,
                'reason': frame.reason,
                'controller': frame.controller,
                'speed': frame.speed,
            }
        return state

    async def _act(self, query: dict[str, str]) -> dict[str, Any]:
        try:
            arguments = json.loads(query.get('arguments', '{}'))
        except ValueError as error:
            raise ValueError(f'arguments: {error}') from error
        action = query.get('action', '')
        if not isinstance(arguments, dict):
            raise ValueError('arguments: a map was expected')
        loop = asyncio.get_running_loop()
        try:
            text = await loop.run_in_executor(None, lambda: self.perform(action, **arguments))
        except (CnoidControlError, TypeError) as error:
            return {'done': False, 'text': str(error)}
        return {'done': True, 'text': text}
