"""The view of a run: a process of its own, fed from the loop."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.simulated_robot import SimulatedRobot
from cnoid_control.viewer.link import Link
from cnoid_control.viewer.ring import Ring
from cnoid_control.viewer.run_actions import RunActions
from cnoid_control.viewer.tap import FrameTap

# Done at once, in the thread that reads: nothing may be in front of them.
URGENT = ('estop', 'velocity', 'pause')
# How long the process of the view may take to end by itself [s].
END_TIMEOUT = 2.0


@dataclass(frozen=True)
class ViewParameters:
    """How a page is served.

    Attributes:
        host: address to serve on.
        port: port; the first free one from 8080 on where 0.
        token: what who opens the page must know; empty for nothing, on this computer alone.
        act: whether the page may act on what it shows.
    """

    host: str = '127.0.0.1'
    port: int = 0
    token: str = ''
    act: bool = False


class RunView:
    """Shows a robot of a simulation in a page, while it is entered.

    The page has a process of its own. The loop writes frames into shared memory and waits for
    nobody; what the page asks for is done in threads beside the loop. A page that hangs or dies
    costs the run nothing.
    """

    def __init__(
        self,
        robot: SimulatedRobot,
        parameters: ViewParameters,
        tell: Callable[[str], None],
        no_reset: str = '',
    ) -> None:
        """Tap the loop of a robot whose run has not begun.

        Args:
            robot: the robot. What records its loop goes on to do so.
            parameters: how the page is served.
            tell: told in one line what happens: the address, the end of the page.
            no_reset: why the robot cannot be reset; empty where it can.
        """
        self._robot = robot
        self._parameters = parameters
        self._tell = tell
        self._ring = Ring()
        self._loop = robot.loop
        self._recorder = robot.loop.recorder
        self._tap = FrameTap(robot.loop, self._ring, self._recorder)
        robot.loop.recorder = self._tap
        self._actions = RunActions(robot, no_reset)
        self._actions.changed = self._changed
        self._worker = ThreadPoolExecutor(1, 'view')
        self._is_leaving = False
        self._is_told = threading.Event()

    def __enter__(self) -> RunView:
        ours, theirs = socket.socketpair()
        fds = (self._ring.fd, theirs.fileno())
        self._process = subprocess.Popen(
            [sys.executable, '-m', 'cnoid_control.viewer.page_process', *map(str, fds)],
            pass_fds=fds,
            stdin=subprocess.DEVNULL,
            # Standard output is the run's: with --json it is one object and nothing else.
            stdout=sys.stderr.fileno() if _has_fileno(sys.stderr) else subprocess.DEVNULL,
            start_new_session=True,
        )
        theirs.close()
        self._is_told.clear()
        self._link = Link(ours, self._serve, self._page_ended)
        self._link.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._is_leaving = True
        self._actions.close()
        self._link.close()
        try:
            self._process.wait(END_TIMEOUT)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._worker.shutdown(wait=False, cancel_futures=True)
        if self._loop.recorder is self._tap:
            self._loop.recorder = self._recorder
        self._ring.close()

    def wait(self, timeout: float) -> None:
        """Wait until the page is there, or cannot be, for at most some time [s]."""
        self._is_told.wait(timeout)

    def _page_ended(self) -> None:
        self._is_told.set()
        if not self._is_leaving:
            self._tell('view: the page has ended; the run goes on')

    @property
    def process_id(self) -> int:
        """Process of the page."""
        return self._process.pid

    # --- the other process asks ---------------------------------------------------------------

    def _serve(self, message: dict[str, Any]) -> Any:
        kind = message.pop('kind')
        if kind == 'hello':
            config = self._robot.config
            return {
                'parameters': asdict(self._parameters),
                'config': json.loads(json.dumps(config.values, default=str)),
                'name': config.name,
                'folder': str(config.folder) if config.folder else '',
            }
        if kind == 'ready':
            self._tell(f'view: {message["url"]}')
            self._is_told.set()
            return None
        if kind == 'failed':
            self._tell(f'view: {message["reason"]}')
            self._is_told.set()
            return None
        if kind == 'describe':
            return self._worker.submit(lambda: self._actions.describe().to_json())
        if not self._parameters.act:
            raise CnoidControlError('the view is read-only: it was not allowed to act')
        action, arguments = message['action'], message['arguments']
        if action in URGENT:
            return self._act(action, arguments)
        return self._worker.submit(self._act, action, arguments)

    def _act(self, action: str, arguments: dict[str, Any]) -> str:
        try:
            return self._actions.act(action, **arguments)
        finally:
            if self._loop.is_paused:
                self._changed()

    def _changed(self) -> None:
        """Have the page look at the description again, in a pause too."""
        self._tap.revision += 1
        if self._loop.is_paused and not self._is_leaving:
            # No tick writes a frame now.
            with contextlib.suppress(CnoidControlError):
                self._loop.call(self._tap.write)


def _has_fileno(stream: Any) -> bool:
    try:
        os.fstat(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False
    return True
