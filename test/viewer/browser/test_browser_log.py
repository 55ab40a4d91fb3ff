"""A log in a real browser: scrubbed and played, read back from what shows it."""

from __future__ import annotations

import threading

import pytest
from view_rig import PATIENCE, ROOT, difference, picture, wait_until

from cnoid_control.cli.main import main

SHOTS = ROOT / 'out' / 'browser'

# Drawing without a graphics card is slow.
pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope='module')
def shown(tmp_path_factory):
    """Return a log of SR1 that walks, and the page that shows it."""
    pytest.importorskip('viser')
    from cnoid_control.viewer.log_source import LogSource
    from cnoid_control.viewer.page import Page

    path = tmp_path_factory.mktemp('log') / 'walk.mcap'
    assert main(['run', 'sr1_walk', '--duration', '6', '--log', str(path)]) == 0
    source = LogSource([path])
    page = Page(source, act=True)
    over = threading.Event()
    thread = threading.Thread(target=page.run, args=(over.is_set,))
    thread.start()
    yield source, page
    over.set()
    thread.join(30.0)
    source.close()


def test_a_log_is_scrubbed_and_played(browser, shown):
    """The slider says the time; the picture is another one at another time."""
    source, served = shown
    SHOTS.mkdir(parents=True, exist_ok=True)
    page = browser.new_page(viewport={'width': 900, 'height': 600})
    page.set_default_timeout(1e3 * PATIENCE)
    try:
        page.goto(served.url, timeout=1e3 * PATIENCE)
        slider = page.get_by_role('slider').filter(visible=True).first
        slider.wait_for()
        wait_until(lambda: picture(page).std() > 10.0)
        first = picture(page)
        slider.focus()
        page.keyboard.press('End')
        wait_until(lambda: source.player.time == pytest.approx(source.player.end, abs=2e-3))
        wait_until(lambda: source.frame().tick == source.log.ticks - 1)
        wait_until(lambda: difference(first, picture(page)) > 0.02)
        page.screenshot(path=SHOTS / 'log.png')
        page.keyboard.press('Home')
        wait_until(lambda: source.player.time == pytest.approx(source.player.begin, abs=2e-3))
        assert page.get_by_role('button', name='E-STOP').count() == 0
        page.get_by_role('button', name='Play', exact=True).click()
        wait_until(lambda: source.player.time > source.player.begin + 0.2)
    finally:
        page.close()
