"""What the browser view costs the loop."""

from __future__ import annotations

import contextlib
import json
import shutil
import statistics
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator

from cnoid_control.bench.row import MetricRow
from cnoid_control.exceptions import CnoidControlError

CONFIG = 'sr1_pd'
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
WORDS = ['--headless=new', '--no-sandbox', '--use-gl=angle', '--use-angle=swiftshader']
# Ticks in a turn, turns of each run, and longest wait for the browser [s].
TICKS = 4000
TURNS = 15
START_TIMEOUT = 90.0


@contextlib.contextmanager
def connected_browser(url: str) -> Iterator[None]:
    """Have a headless browser look at a page.

    Raises:
        CnoidControlError: there is no browser, or it does not connect.
    """
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        raise CnoidControlError(f'there is no browser; one of {", ".join(BROWSERS)} is needed')
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        browser = subprocess.Popen(
            [path, *WORDS, '--enable-unsafe-swiftshader', f'--user-data-dir={folder}', url],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            deadline = time.monotonic() + START_TIMEOUT
            while not _clients(url):
                if time.monotonic() > deadline:
                    raise CnoidControlError(f'{path} did not connect in {START_TIMEOUT:g} s')
                time.sleep(0.2)
            yield
        finally:
            browser.terminate()
            browser.wait()


def _clients(url: str) -> int:
    request = urllib.request.Request(f'{url}view/state', headers={'X-Cnoid-View': '1'})
    with urllib.request.urlopen(request, timeout=START_TIMEOUT) as answer:
        return int(json.load(answer)['clients'])


def view_cost() -> float:
    """CPU time of the loop's thread per tick with a connected browser, over that without a view.

    Ticks are taken as fast as possible, in turns. CPU time leaves out how the browser, which
    draws without a graphics card here, and the run share the cores.
    """
    from cnoid_control.simulation import Simulation
    from cnoid_control.viewer.run_view import RunView, ViewParameters
    from cnoid_control.viewer.server import free_port

    def turn(simulation: Simulation) -> float:
        began = time.thread_time()
        for _ in range(TICKS):
            simulation.step()
        return time.thread_time() - began

    told: list[str] = []
    parameters = ViewParameters(port=free_port('127.0.0.1', 0), act=True)
    with (
        Simulation(CONFIG, record=False) as plain,
        Simulation(CONFIG, record=False) as viewed,
        RunView(viewed.robots['robot'], parameters, told.append),
    ):
        viewed.step()
        plain.step()
        while not told:
            time.sleep(0.05)
        if not told[0].startswith('view: http'):
            raise CnoidControlError(told[0])
        with connected_browser(told[0].removeprefix('view: ')):
            pairs = [(turn(viewed), turn(plain)) for _ in range(TURNS)]
    return statistics.median(first / second for first, second in pairs)


ROWS = (
    MetricRow(
        'view',
        'CPU time of a tick of SR1 with the view and a connected browser',
        'the same without a view, in turns',
        view_cost,
        'times',
        goal=1.03,
        needs='viser',
    ),
)
