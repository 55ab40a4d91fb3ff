"""A run with its page, in the test's own hands, and a browser that looks at it."""

from __future__ import annotations

import io
import math
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from cnoid_control import Simulation
from cnoid_control.viewer.run_view import RunView, ViewParameters
from cnoid_control.viewer.server import free_port

ROOT = Path(__file__).resolve().parents[2]
CONTROLLER = f'{Path(__file__).with_name("view_controllers.py")}:Softer'
# Where there is no graphics card.
SOFTWARE_GL = ['--use-gl=angle', '--use-angle=swiftshader', '--enable-unsafe-swiftshader']
NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
HOW = 'sudo apt install chromium, or name one: CHROMIUM=/path/to/chromium make test-browser'
# A busy computer draws slowly, without a graphics card even more so [s].
PATIENCE = 90.0


def find_chromium() -> str:
    """Return the browser to test with; empty where there is none."""
    given = os.environ.get('CHROMIUM', '')
    return given or next((path for name in NAMES if (path := shutil.which(name))), '')


def wait_until(is_so: Callable[[], bool], timeout: float = PATIENCE) -> None:
    """Wait; a test that waits for ever says nothing."""
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, 'it has not come to that'
        time.sleep(0.01)


class ViewRig:
    """A run in a thread with a page in its process.

    Attributes:
        loop: the loop, whose state is read back.
        url: address of the page.
        told: what the view has said.
    """

    def __init__(
        self, config: str, speed: float = 1.0, token: str = '', act: bool = True, **given: Any
    ) -> None:
        changes = {'on_fault': 'hold', 'watchdog.control_timeout': 10.0}
        self.simulation = Simulation(config, changes=changes, record=False, **given)
        self.robot = self.simulation.robots['robot']
        self.loop = self.robot.loop
        self.told: list[str] = []
        port = free_port('127.0.0.1', 0)
        parameters = ViewParameters('127.0.0.1', port, token, act)
        self.view = RunView(self.robot, parameters, self.told.append)
        self.loop.pause()
        self._thread = threading.Thread(
            target=self.simulation.complete, args=(math.inf, True), daemon=True
        )
        self.view.__enter__()
        self._thread.start()
        wait_until(lambda: bool(self.told))
        assert self.told[0].startswith('view: http'), self.told
        self.url = self.told[0].removeprefix('view: ')
        self.loop.call(lambda: None, 30.0)
        self.loop.speed = speed

    @property
    def controller(self) -> str:
        """Name of the controller that has the robot."""
        return self.loop.host.controllers[0].name

    def close(self) -> None:
        """End the run, and the page."""
        self.loop.request_stop()
        self._thread.join(30.0)
        self.view.__exit__()
        assert not self._thread.is_alive()


def picture(page: Any) -> np.ndarray:
    """Return what the browser shows of the scene, left of the panel."""
    size = page.viewport_size
    clip = {'x': 0, 'y': 60, 'width': size['width'] - 330, 'height': size['height'] - 180}
    data = page.screenshot(clip=clip)
    return np.asarray(Image.open(io.BytesIO(data)).convert('RGB'), dtype=float)


def difference(first: np.ndarray, second: np.ndarray) -> float:
    """Return the share of pixels that differ clearly."""
    return float((np.abs(first - second).max(axis=2) > 30.0).mean())
