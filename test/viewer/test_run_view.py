"""The page of a run: its process, its requests, and a loop that does not notice it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from urllib.parse import urlencode, urlsplit

import pytest

pytest.importorskip('viser')

from view_rig import ViewRig, wait_until

from cnoid_control import Simulation
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.viewer.link import Link
from cnoid_control.viewer.ring import Ring
from cnoid_control.viewer.tap import FrameTap

TOKEN = 'abcdefgh12'


def ask(rig: ViewRig, path: str, token: str = '', **query: str) -> dict:
    """Return the answer to a request of the page's own script."""
    parts = urlsplit(rig.url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    headers = {'X-Cnoid-View': '1'}
    if token:
        headers['Cookie'] = f'cnoid_view_{parts.port}={token}'
    connection.request('GET', f'/view/{path}?{urlencode(query)}', headers=headers)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return json.loads(text) if answer.status == 200 else {'status': answer.status, 'text': text}


@pytest.fixture
def make():
    """Return a function that makes a run with a page, closed at the end."""
    made = []

    def start(**given) -> ViewRig:
        made.append(ViewRig('sr1_pd', **given))
        return made[-1]

    yield start
    for rig in made:
        rig.close()


def test_a_page_that_may_act_acts(make):
    """What its script asks for is done in the loop, and its state is the loop's."""
    rig = make()
    wait_until(lambda: ask(rig, 'state').get('state') == 'ready')
    assert ask(rig, 'act', action='resume')['done']
    wait_until(lambda: ask(rig, 'state')['time'] > 0.05)
    assert ask(rig, 'state')['controller'] == 'sr1_minimum'
    answer = ask(rig, 'act', action='swap', arguments='{"controller": "nobody"}')
    assert not answer['done']
    assert "unknown controller 'nobody'" in answer['text']
    assert not ask(rig, 'act', action='push', arguments='{"height": 1}')['done']
    assert ask(rig, 'act', action='push', arguments='[1]')['status'] == 400
    assert ask(rig, 'act', action='push', arguments='{')['status'] == 400
    assert ask(rig, 'act', action='estop')['done']
    wait_until(lambda: rig.loop.safe_state.is_estop)
    wait_until(lambda: ask(rig, 'state')['state'] == 'e-stop')


def test_a_page_that_may_not_act_only_looks(make):
    """Its requests are refused, in its process and, were it another program, in the run's."""
    rig = make(act=False, token=TOKEN)
    assert ask(rig, 'state')['status'] == 401
    wait_until(lambda: 'state' in ask(rig, 'state', TOKEN))
    assert ask(rig, 'state', TOKEN)['act'] is False
    answer = ask(rig, 'act', TOKEN, action='estop')
    assert answer == {'done': False, 'text': 'the view is read-only: it was not allowed to act'}
    with pytest.raises(CnoidControlError, match='read-only'):
        rig.view._serve({'kind': 'act', 'action': 'estop', 'arguments': {}})
    assert not rig.loop.safe_state.is_engaged


def test_the_loop_does_not_notice_a_page_that_hangs_or_dies(make):
    """Ticks go on, and so does everything else; that it died is told."""
    rig = make()
    rig.loop.resume()
    page = rig.view.process_id
    for number in (signal.SIGSTOP, signal.SIGKILL):
        os.kill(page, number)
        tick = rig.loop.tick
        wait_until(lambda tick=tick: rig.loop.tick > tick + 300)
        frames = rig.view._ring.count
        wait_until(lambda frames=frames: rig.view._ring.count > frames + 3)
    wait_until(lambda: len(rig.told) == 2)
    assert 'the page has ended' in rig.told[1]
    assert not rig.loop.safe_state.is_engaged


def test_who_waits_for_an_answer_is_told_that_nobody_gives_one():
    """When the other end goes, and when it is silent."""
    ours, theirs = socket.socketpair()
    link = Link(ours, lambda message: None)
    link.start()
    with pytest.raises(CnoidControlError, match=r'no answer in 0\.05 s'):
        link.ask({'kind': 'hello'}, timeout=0.05)
    theirs.close()
    wait_until(link.closed.is_set)
    with pytest.raises(CnoidControlError, match='has gone'):
        link.ask({'kind': 'hello'})
    link.close()


def test_a_run_that_waits_for_nothing_writes_frames_that_it_can_afford():
    """A hundredth of its CPU time; at the pace of the clock every frame is written."""
    simulation = Simulation('sr1_pd', record=False)
    ring = Ring()
    tap = simulation.loop.recorder = FrameTap(simulation.loop, ring)
    simulation.run(0.01)
    assert ring.count > 0
    tap._cost, tap._next, before = 1e6, 0.0, ring.count
    simulation.run(0.01)
    assert ring.count == before
    tap._next = 0.0
    simulation.run(0.01, real_time=True)
    assert ring.count > before
    ring.close()
    # Who has closed it is not noticed.
    tap._next = 0.0
    simulation.run(0.01, real_time=True)
