"""What a page does to a run, read back from the loop itself."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest

from cnoid_control import Simulation
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.viewer.frame import ESTOP, PAUSED, READY, RUNNING, Frame
from cnoid_control.viewer.ring import Ring
from cnoid_control.viewer.run_actions import RunActions
from cnoid_control.viewer.tap import FrameTap, run_state


def wait_until(is_so: Callable[[], bool], timeout: float = 30.0) -> None:
    """Wait; a test that waits for ever says nothing."""
    deadline = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < deadline, 'it has not come to that'
        time.sleep(0.002)


class Rig:
    """A run of a configuration in a thread, and what acts on it."""

    def __init__(self, config: str, **changes: object) -> None:
        given = {'on_fault': 'hold', 'watchdog.control_timeout': 5.0, **changes}
        self.simulation = Simulation(config, changes=given, record=False)
        self.robot = self.simulation.robots['robot']
        self.loop = self.robot.loop
        self.ring = Ring()
        self.tap = FrameTap(self.loop, self.ring)
        self.loop.recorder = self.tap
        self.actions = RunActions(self.robot)
        self.loop.pause()
        self.thread = threading.Thread(target=self.simulation.complete, args=(math.inf,))
        self.thread.start()
        # In its pause it is open.
        self.loop.call(lambda: None, 30.0)

    def frame(self) -> Frame:
        """Return the newest frame."""
        self.loop.call(self.tap.write)
        return Frame.from_bytes(self.ring.read())

    def close(self) -> None:
        """End the run."""
        self.loop.request_stop()
        self.thread.join(30.0)
        self.actions.close()
        assert not self.thread.is_alive()
        self.ring.close()


@pytest.fixture(scope='module')
def pd():
    """Return a run of the PD controller on SR1, paused."""
    rig = Rig('sr1_pd')
    yield rig
    rig.close()


@pytest.fixture
def rig(pd):
    """Return the run, at the start and paused."""
    pd.loop.speed = math.inf
    pd.loop.pause()
    pd.actions.act('reset')
    return pd


def test_start_pause_and_single_step(rig):
    """The state in the frames is the loop's."""
    assert rig.frame().state in (READY, PAUSED)
    tick = rig.loop.tick
    assert rig.actions.act('step', count=2) == '2 ticks'
    wait_until(lambda: rig.loop.tick == tick + 2)
    assert rig.actions.act('resume') == 'running'
    wait_until(lambda: rig.loop.tick > tick + 20)
    assert run_state(rig.loop) == (RUNNING, '')
    with pytest.raises(CnoidControlError, match='it runs'):
        rig.actions.act('step')
    rig.actions.act('pause')
    assert rig.frame().state == PAUSED
    for count in (0, -1, 1.5, True, 10**6):
        with pytest.raises(CnoidControlError, match='count is'):
            rig.actions.act('step', count=count)


def test_estop_and_reset(rig):
    """An e-stop holds the robot until a reset puts it back to its start; in a pause too."""
    for is_paused in (True, False):
        if not is_paused:
            rig.actions.act('resume')
        rig.actions.act('estop')
        wait_until(lambda: rig.loop.safe_state.is_estop)
        frame = rig.frame()
        assert (frame.state, frame.reason) == (ESTOP, 'e-stop of the view')
        with pytest.raises(CnoidControlError, match='safe state: e-stop of the view'):
            rig.actions.act('resume')
        with pytest.raises(CnoidControlError, match='safe state: e-stop of the view'):
            rig.actions.act('swap', controller='pd')
        before = rig.loop.host
        rig.actions.act('reset')
        assert not rig.loop.safe_state.is_engaged
        assert rig.loop.host is not before


def test_a_reset_is_the_start_again(rig):
    """Posture and time are those of the start; what follows is what followed then."""
    body = rig.loop.hardware.body
    q, height = body.q.copy(), float(body.root_link.p[2])
    assert rig.loop.hardware.time == 0.0
    rig.actions.act('push', link='WAIST', force=[300.0, 0.0, 0.0], duration=0.2)
    tick = rig.loop.tick
    rig.actions.act('step', count=400)
    wait_until(lambda: rig.loop.tick == tick + 400)
    assert abs(body.root_link.p[0]) > 0.01
    rig.actions.act('reset')
    np.testing.assert_array_equal(body.q, q)
    assert body.root_link.p[2] == height
    assert rig.loop.hardware.time == 0.0


def test_a_push_moves_the_robot_that_way(rig):
    """And a wrong one is refused by name."""
    body = rig.loop.hardware.body
    text = rig.actions.act('push', link='WAIST', force=[0.0, 200.0, 0.0], duration=0.1)
    assert text == '200 N on WAIST for 0.1 s'
    tick = rig.loop.tick
    rig.actions.act('step', count=100)
    wait_until(lambda: rig.loop.tick == tick + 100)
    assert body.root_link.v[1] > 0.05
    for wrong, words in (
        ({'link': 'NOSE', 'force': [1, 2, 3]}, "unknown link 'NOSE'"),
        ({'link': 'WAIST', 'force': [1, 2]}, '3 finite values'),
        ({'link': 'WAIST', 'force': [1, 2, math.nan]}, '3 finite values'),
        ({'link': 'WAIST', 'force': [1, 2, 3], 'duration': 0.0}, 'duration is'),
        ({'link': 'WAIST', 'force': [1, 2, 3], 'duration': 'long'}, 'duration is'),
        ({'link': 'WAIST', 'force': [1, 2, 3], 'point': [0]}, 'point is'),
        ({'force': [1, 2, 3]}, 'link'),
    ):
        with pytest.raises(CnoidControlError, match=words):
            rig.actions.act('push', **wrong)


def test_a_swap_and_its_options(rig):
    """Another controller takes over; its options are described, changed and refused."""
    rig.actions.act('resume')
    assert 'pd' in rig.actions.describe().controllers
    revision = []
    rig.actions.changed = lambda: revision.append(1)
    assert rig.actions.act('swap', controller='pd') == 'pd has taken over'
    assert revision
    wait_until(lambda: rig.loop.transition is None)
    assert rig.loop.host.controllers[0].name == 'pd'
    assert rig.robot.config.controller_name == 'pd'
    options = {option.key: option for option in rig.actions.describe().options}
    assert options
    member = rig.loop.host.controllers[0]
    key, option = next(
        (key, one)
        for key, one in options.items()
        if one.kind == 'float' and not one.refusal and one.minimum is not None
    )
    rig.actions.act('option', key=key, value=option.value + 1.0)
    again = {one.key: one.value for one in rig.actions.describe().options}
    assert again[key] == option.value + 1.0
    assert getattr(member.parameters, key.removeprefix('pd.')) == option.value + 1.0
    with pytest.raises(CnoidControlError, match=rf'{key}.*must lie in'):
        rig.actions.act('option', key=key, value=option.minimum - 1.0)
    with pytest.raises(CnoidControlError, match=r'pd\.nonsense: unknown option'):
        rig.actions.act('option', key='pd.nonsense', value=1.0)
    with pytest.raises(CnoidControlError, match='no controller of that name'):
        rig.actions.act('option', key='other.gain', value=1.0)
    assert {one.key: one.value for one in rig.actions.describe().options} == again


def test_a_swap_that_cannot_be_says_why(rig):
    """The controller that has the robot keeps it."""
    with pytest.raises(CnoidControlError, match='paused'):
        rig.actions.act('swap', controller='pd')
    rig.actions.act('resume')
    before = rig.loop.host
    with pytest.raises(CnoidControlError, match='no_such_controller'):
        rig.actions.act('swap', controller='no_such_controller')
    assert rig.loop.host is before
    assert rig.loop.transition is None


def test_the_speed_is_the_loops(rig):
    """And what is none is refused."""
    assert rig.actions.act('speed', value=0.25) == '0.25 times real time'
    assert rig.loop.speed == 0.25
    assert rig.actions.describe().speed == 0.25
    assert rig.actions.act('speed', value=0) == 'as fast as possible'
    assert math.isinf(rig.loop.speed)
    for wrong in (-1.0, math.inf, 'fast', None, 1e-9):
        with pytest.raises(CnoidControlError, match='value is'):
            rig.actions.act('speed', value=wrong)


def test_unknown_actions_and_arguments_are_refused(rig):
    """By name."""
    with pytest.raises(CnoidControlError, match="unknown action 'fly'"):
        rig.actions.act('fly')
    with pytest.raises(CnoidControlError, match='height'):
        rig.actions.act('pause', height=3)
    with pytest.raises(CnoidControlError, match='no controller takes Joy or Twist'):
        rig.actions.act('velocity', x=1.0)
    assert 'velocity' in rig.actions.describe().refusals


def test_a_run_that_is_recorded_is_not_reset(rig):
    """Its time would go back in the log."""
    actions = RunActions(rig.robot, 'the run is recorded')
    try:
        assert actions.describe().refusals['reset'] == 'the run is recorded'
        with pytest.raises(CnoidControlError, match='recorded'):
            actions.act('reset')
    finally:
        actions.close()


def test_frames_hold_what_the_loop_has(rig):
    """Joints, root, force sensors and contacts, which carry the robot."""
    tick = rig.loop.tick
    rig.actions.act('step', count=300)
    wait_until(lambda: rig.loop.tick == tick + 300)
    frame = rig.frame()
    body = rig.loop.hardware.body
    np.testing.assert_array_equal(frame.q, body.q)
    np.testing.assert_array_equal(frame.u, body.u)
    np.testing.assert_allclose(frame.root[:3], body.root_link.p)
    assert frame.controller == rig.loop.host.controllers[0].name
    weight = 9.80665 * body.mass
    assert frame.contacts[:, 6].sum() == pytest.approx(weight, rel=0.1)
    links = {body.links[int(index)].name for index in frame.contacts[:, 0]}
    assert all('ANKLE' in name for name in links), links


def test_sticks_reach_the_controller_and_are_let_go():
    """A stick that nobody confirms any more goes back to the middle."""
    rig = Rig('tank')
    try:
        rig.actions.act('resume')
        body = rig.loop.hardware.body
        rig.loop.speed = 1.0
        rig.actions.act('velocity', x=1.0)
        wait_until(lambda: bool(np.abs(body.dq_target).max() > 0.0 or np.abs(body.u).max() > 0.0))
        with pytest.raises(CnoidControlError, match='-1 to 1'):
            rig.actions.act('velocity', x=2.0)
        wait_until(lambda: not rig.actions._sticks.any())
    finally:
        rig.close()
