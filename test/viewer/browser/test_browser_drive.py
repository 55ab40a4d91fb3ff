"""Keys and the stick of the page in a real browser, on a robot that is driven."""

from __future__ import annotations

import numpy as np
import pytest
from view_rig import PATIENCE, ViewRig, wait_until

# Drawing without a graphics card is slow.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope='module')
def run():
    """Return a run of the tank."""
    rig = ViewRig('tank')
    rig.loop.resume()
    yield rig
    rig.close()


def test_keys_and_stick_drive_the_robot(browser, run):
    """While they are held; the robot stands when they are let go."""
    body = run.loop.hardware.body
    page = browser.new_page(viewport={'width': 420, 'height': 420})
    page.set_default_timeout(1e3 * PATIENCE)
    try:
        page.goto(run.url, timeout=1e3 * PATIENCE)
        stick = page.locator('#cnoid-stick')
        stick.wait_for()

        def is_driven() -> bool:
            return bool(np.abs(body.dq_target).max() > 0.1)

        # A message ends the script that it has.
        run.view._actions.act('velocity')
        wait_until(lambda: not is_driven())
        page.keyboard.down('w')
        wait_until(is_driven)
        page.keyboard.up('w')
        wait_until(lambda: not is_driven())
        box = stick.bounding_box()
        page.mouse.move(box['x'] + box['width'] / 2, box['y'] + box['height'] / 2)
        page.mouse.down()
        page.mouse.move(box['x'] + box['width'] / 2, box['y'] + 2)
        wait_until(is_driven)
        page.mouse.up()
        wait_until(lambda: not is_driven())
    finally:
        page.close()
