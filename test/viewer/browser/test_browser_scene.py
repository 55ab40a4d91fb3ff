"""The picture and the plots in a real browser; screenshots are kept in out/browser."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
from view_rig import PATIENCE, ROOT, difference, picture, wait_until

from cnoid_control.simulation import load_robot
from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.plots import LivePlots
from cnoid_control.viewer.scene import Scene
from cnoid_control.viewer.server import PageServer

WAIT = 1e3 * PATIENCE
SHOTS = ROOT / 'out' / 'browser'


class Shown:
    """A block with its picture and its plots, a frame of it every 50 ms."""

    def __init__(self):
        self.server = PageServer({})
        self.body = load_robot('block')
        self.scene = Scene(self.server, self.body)
        self.scene.add_controls()
        self.plots = LivePlots(self.server, self.body)
        self.clicks = []
        self.scene.on_click(lambda client, *values: self.clicks.append(values))
        self.frame = Frame(
            root=self.body.root_q.copy(),
            contacts=np.array([[0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 30.0]]),
            log={'own/height': np.array([0.5])},
        )
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        begin = time.monotonic()
        while not self._over.wait(0.05):
            self.frame.time = time.monotonic() - begin
            self.scene.show(self.frame)
            self.plots.show(self.frame)

    def close(self):
        """End it."""
        self._over.set()
        self._thread.join(30.0)
        self.server.stop()


@pytest.fixture(scope='module')
def shown():
    """Return the block."""
    made = Shown()
    yield made
    made.close()


@pytest.fixture(scope='module')
def page(browser, shown):
    """Return its page, once the block is seen: it is green, and in the middle."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport={'width': 900, 'height': 700})
    page.set_default_timeout(WAIT)
    page.goto(shown.server.url, timeout=WAIT)
    page.get_by_text('contact forces').wait_for()
    wait_until(lambda: is_green(middle(page)))
    yield page
    page.close()


def middle(page):
    """Return red, green and blue in the middle of the page."""
    shot = picture(page)
    return shot[350 - 60, 450]


def is_green(color):
    """Return whether a colour is the block's."""
    red, green, blue = color
    return green > red + 25.0 and green > blue + 15.0


def box_of(page, label):
    """Return the check box beside a label."""
    path = f"xpath=//*[normalize-space(text())='{label}']/ancestor::*[.//input][1]//input"
    return page.locator(path).first


def test_a_switch_hides_its_layer(page, shown):
    """The arrow of the contact force goes from the picture, and comes again."""
    layer = shown.scene.layers['contact forces']
    wait_until(lambda: shown.server.scene.get_handle_by_name('/contacts') is not None)
    time.sleep(2.0)
    with_arrow = picture(page)
    page.screenshot(path=SHOTS / 'layers.png')
    box_of(page, 'contact forces').click()
    wait_until(lambda: not layer.is_on)
    wait_until(lambda: difference(with_arrow, picture(page)) > 0.001)
    box_of(page, 'contact forces').click()
    wait_until(lambda: layer.is_on)
    wait_until(lambda: difference(with_arrow, picture(page)) < 0.001)


def test_a_click_on_a_link_tells_the_point_of_its_surface(page, shown):
    """In the middle of the picture there is the block: its top or one of its sides."""
    page.mouse.click(450, 350)
    wait_until(lambda: bool(shown.clicks))
    name, point, direction = shown.clicks[0]
    assert name == 'block'
    assert np.abs(point / [0.15, 0.15, 0.05]).max() == pytest.approx(1.0, abs=1e-3)
    view = shown.server.initial_camera
    sight = (view.look_at - view.position) / np.linalg.norm(view.look_at - view.position)
    np.testing.assert_allclose(direction, sight, atol=0.05)


def test_a_plot_is_drawn_with_what_is_logged(page, shown):
    """The chart appears with its title, and its line is the value."""
    box_of(page, 'logged values').click()
    wait_until(lambda: any(chart.switch.value for chart in shown.plots.charts))
    chart = page.locator('.uplot').first
    chart.wait_for()
    page.locator('.u-title', has_text='own/height').wait_for()
    page.screenshot(path=SHOTS / 'plot.png')
    values = shown.plots.history.logged('own/height', 10.0).y['own/height']
    np.testing.assert_array_equal(values, 0.5)


def test_a_robot_that_moves_about_stays_before_the_camera(page, shown):
    """It is in the middle of the picture three metres further on, and a click still hits it."""
    shown.clicks.clear()
    root = shown.frame.root.copy()
    root[0] += 3.0
    shown.frame.contacts = shown.frame.contacts[:0]
    shown.frame.root = root
    time.sleep(5.0)
    wait_until(lambda: is_green(middle(page)))
    page.mouse.click(450, 350)
    wait_until(lambda: bool(shown.clicks))
    name, point, _ = shown.clicks[0]
    assert name == 'block'
    assert np.abs(point / [0.15, 0.15, 0.05]).max() == pytest.approx(1.0, abs=1e-3)
    page.screenshot(path=SHOTS / 'followed.png')
