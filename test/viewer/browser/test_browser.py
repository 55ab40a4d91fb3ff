"""The page in a real browser: each click is read back from the loop itself.

Screenshots are kept in out/browser.
"""

from __future__ import annotations

import time

import pytest
from view_rig import CONTROLLER, PATIENCE, ROOT, ViewRig, difference, picture, wait_until

from cnoid_control.viewer.frame import ESTOP

WAIT = 1e3 * PATIENCE
SIZE = {'width': 900, 'height': 600}
SHOTS = ROOT / 'out' / 'browser'

# Drawing without a graphics card is slow.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope='module')
def run():
    """Return a run of SR1, slowed down: the machine draws at the same time."""
    rig = ViewRig('sr1_pd', speed=0.3, controller=CONTROLLER)
    yield rig
    rig.close()


@pytest.fixture(scope='module')
def shared_page(browser, run):
    """Return the page, opened once."""
    SHOTS.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport=SIZE)
    page.set_default_timeout(WAIT)
    page.goto(run.url, timeout=WAIT)
    page.get_by_role('button', name='Single step').wait_for()
    page.wait_for_selector('#cnoid-bar[data-state]')
    yield page
    page.close()


@pytest.fixture
def page(shared_page, run):
    """Return the page of a robot at its start, running."""
    run.loop.pause()
    run.robot.restart()
    run.loop.resume()
    shared_page.get_by_role('tab', name='Run').click()
    return shared_page


def state_of(page) -> str:
    """Return the state that the page shows."""
    return page.get_attribute('#cnoid-bar', 'data-state')


def test_the_robot_is_seen_and_moves(page, run):
    """The picture stands still while the run does, and changes when the robot is pushed."""
    page.get_by_role('button', name='Pause').click()
    wait_until(lambda: run.loop.is_paused)
    wait_until(lambda: state_of(page) == 'paused')
    wait_until(lambda: picture(page).std() > 10.0)
    time.sleep(1.0)
    before = picture(page)
    assert difference(before, picture(page)) < 0.002
    tick = run.loop.tick
    page.get_by_role('button', name='Single step').click()
    wait_until(lambda: run.loop.tick == tick + 1)
    run.loop.call(lambda: run.robot.push('CHEST', [400.0, 0.0, 0.0], 0.2))
    page.get_by_role('button', name='Resume').click()
    wait_until(lambda: not run.loop.is_paused)
    wait_until(lambda: abs(run.loop.hardware.body.root_link.p[0]) > 0.2)
    wait_until(lambda: difference(before, picture(page)) > 0.02)
    page.screenshot(path=SHOTS / 'pushed.png')


def test_a_slider_changes_an_option(page, run):
    """The controller follows it in its next tick."""
    page.get_by_role('tab', name='Options').click()
    row = page.get_by_text('softness [1]')
    row.wait_for()
    slider = page.get_by_role('slider').filter(visible=True).first
    slider.focus()
    for _ in range(4):
        page.keyboard.press('ArrowRight')
    controller = run.loop.host.controllers[0].controller
    wait_until(lambda: controller.softness > 0.0)
    shown = float(slider.get_attribute('aria-valuenow'))
    wait_until(lambda: controller.softness == pytest.approx(shown))
    page.screenshot(path=SHOTS / 'options.png')


def test_the_controller_is_swapped(page, run):
    """By the list; one that cannot take over says why, and the list goes back."""
    assert run.controller == 'softer'
    choice = page.get_by_role('combobox').filter(visible=True).first
    choice.click()
    page.get_by_role('option', name='sr1_minimum', exact=True).click()
    wait_until(lambda: run.controller == 'sr1_minimum')
    wait_until(lambda: run.loop.transition is None)
    page.wait_for_function("document.querySelector('#cnoid-bar').textContent.includes('sr1_min')")
    choice.click()
    page.get_by_role('option', name='policy', exact=True).click()
    page.get_by_text('swap: refused').first.wait_for()
    page.screenshot(path=SHOTS / 'swap_refused.png')
    assert run.controller == 'sr1_minimum'
    wait_until(lambda: choice.input_value() == 'sr1_minimum')


def test_a_push_from_the_panel(page, run, monkeypatch):
    """Direction and strength that reach the physics are those of the sliders."""
    hardware, pushes = run.loop.hardware, []
    push = hardware.push

    def note(link, force, duration, point) -> None:
        pushes.append((link.name, force.tolist(), duration))
        push(link, force, duration, point)

    monkeypatch.setattr(hardware, 'push', note)
    sliders = page.get_by_role('slider').filter(visible=True)
    # Force, heading, elevation, duration: heading to the left.
    sliders.nth(1).focus()
    page.keyboard.press('End')
    assert sliders.nth(1).get_attribute('aria-valuenow') == '180'
    page.get_by_role('button', name='Push', exact=True).click()
    wait_until(lambda: bool(pushes))
    ((link, force, duration),) = pushes
    assert (link, duration) == ('WAIST', 0.1)
    assert force == pytest.approx([-50.0, 0.0, 0.0], abs=1e-9)
    page.get_by_text('50 N on WAIST for 0.1 s').first.wait_for()


@pytest.mark.parametrize('how', ['button', 'space'])
def test_the_emergency_stop(page, run, how):
    """The button that lies over everything, and the space bar; a reset leaves it."""
    wait_until(lambda: state_of(page) == 'running')
    if how == 'button':
        page.get_by_role('button', name='E-STOP').click()
    else:
        page.get_by_role('tab', name='Plots').click()
        page.keyboard.press('Space')
        page.get_by_role('tab', name='Run').click()
    wait_until(lambda: run.loop.safe_state.is_estop)
    assert run.loop.safe_state.reason == 'e-stop of the view'
    wait_until(lambda: state_of(page) == ESTOP)
    page.screenshot(path=SHOTS / f'estop_{how}.png')
    page.get_by_role('button', name='Reset').click()
    wait_until(lambda: not run.loop.safe_state.is_engaged)
    assert run.loop.hardware.time < 2.0


def test_a_phone_is_large_enough(page, run):
    """State and e-stop are in reach, and not under the panel."""
    page.set_viewport_size({'width': 390, 'height': 780})
    try:
        page.wait_for_selector('#cnoid-bar[data-state="running"]')
        button = page.get_by_role('button', name='E-STOP')
        for box in (page.locator('#cnoid-bar').bounding_box(), button.bounding_box()):
            assert box['x'] >= 0
            assert box['x'] + box['width'] <= 390
            assert box['y'] + box['height'] <= 780
        page.screenshot(path=SHOTS / 'phone.png')
        button.click()
        wait_until(lambda: run.loop.safe_state.is_estop)
    finally:
        page.set_viewport_size(SIZE)
