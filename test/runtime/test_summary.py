"""What is told of a run: errors, tilt, falls, and that JSON can express it."""

from __future__ import annotations

import io
import json

import numpy as np
import pinocchio as pin
import pytest
from fake_hardware import FakeHardware, two_joint_body

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.rotations import rotation_matrix
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.config import parse_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.loop import RunOutcome
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.summary import LOW_ROOT, RunMonitor, _plain, summarize
from cnoid_control.runtime.trace import TickTrace

CONFIG = parse_config({'robot': {'model': 'x.urdf'}, 'controller': 'sr1_minimum'}, 'mine')


class Following(SimpleController):
    """Commands torques on the first joint; its reference is 0.25 behind."""

    def initialize(self, io) -> bool:
        self.body = io.body
        io.enable_input(io.body.joint(0), StateFlag.JOINT_DISPLACEMENT)
        io.enable_output(io.body.joint(0), StateFlag.JOINT_TORQUE)
        return True

    def control(self) -> bool:
        self.body.q_target[0] = self.body.q[0] - 0.25
        return True


def run(hardware, controller: SimpleController, ticks: int) -> dict:
    """Run and summarize."""
    host = ControllerHost(
        [ManagedController('c', controller)], hardware.body, hardware.time_step, io.StringIO()
    )
    loop = wire_loop(hardware, host, trace=TickTrace(hardware.body))
    monitor = RunMonitor(loop)
    outcome = loop.run(ticks * hardware.time_step)
    return json.loads(json.dumps(summarize(CONFIG, loop, monitor, outcome), allow_nan=False))


def test_error_is_that_of_the_commanded_joints():
    """The other joint is as far from its target as there are ticks, which does not count."""
    summary = run(FakeHardware(two_joint_body()), Following(), 30)
    assert summary['max_joint_error'] == pytest.approx(0.25)
    assert summary['fell'] is False
    assert (summary['config'], summary['ticks'], summary['duration']) == ('mine', 30, 0.3)


def test_error_without_a_reference_is_that_to_the_initial_posture():
    """A controller that never writes q_target is measured against where it began."""

    class Silent(Following):
        def control(self) -> bool:
            return True

    summary = run(FakeHardware(two_joint_body()), Silent(), 30)
    assert summary['max_joint_error'] == pytest.approx(29.0)


class Tumbling(FakeHardware):
    """A block whose root turns or sinks, tick by tick."""

    def __init__(
        self, tilt_rate: float, sink_rate: float, start: float = 0.0, height: float = 1.0
    ) -> None:
        root = LinkDescription('root', joint_type=JointType.FREE)
        super().__init__(Body(BodyDescription('block', [root])))
        self.rates = tilt_rate, sink_rate
        self.start, self.height = start, height
        self._pose(0)

    def _pose(self, tick: int) -> None:
        axis = np.array([1.0, 1.0, 0.0])
        angle = self.start + self.rates[0] * tick
        self.body.root_link.R = rotation_matrix((axis, angle))
        self.body.root_link.p = np.array([0.1, 0.2, self.height - self.rates[1] * tick])

    def read(self) -> bool:
        self._pose(self.tick)
        return super().read()


@pytest.mark.parametrize(
    ('tilt_rate', 'sink_rate', 'fell'),
    [(0.0, 0.0, False), (1.0, 0.0, False), (2.0, 0.0, True), (0.0, 0.4, False), (0.0, 0.6, True)],
)
def test_falls_are_seen(tilt_rate, sink_rate, fell):
    """A root beyond 60 degrees, or below half of its height, has fallen."""
    hardware = Tumbling(np.radians(tilt_rate), sink_rate / 40.0)
    summary = run(hardware, _Idle(), 41)
    assert summary['fell'] is fell
    assert summary['max_tilt_deg'] == pytest.approx(40.0 * tilt_rate, abs=1e-6)
    assert summary['root_position'] == pytest.approx([0.1, 0.2, 1.0 - sink_rate])


def test_tilt_counts_from_how_the_root_was_put():
    """A root that lies on its side at the start has not tilted yet."""
    summary = run(Tumbling(0.0, 0.0, start=np.pi / 2), _Idle(), 5)
    assert summary['max_tilt_deg'] == pytest.approx(0.0, abs=1e-5)
    assert summary['fell'] is False


class _Idle(SimpleController):
    def control(self) -> bool:
        return True


def test_values_that_are_no_numbers_are_null():
    """A NaN in the state shows up, and the summary is still JSON."""

    class Broken(FakeHardware):
        def read(self) -> bool:
            super().read()
            self.body.q[0] = np.nan
            return True

    summary = run(Broken(two_joint_body()), Following(), 5)
    assert summary['max_joint_error'] is None


def test_reports_of_controllers_are_told():
    """In what JSON can express; one that fails is told as such."""

    class Reporting(Following):
        def report(self):
            return {'gain': np.float64(2.0), 'n': np.int64(3), 'v': np.ones(2), 'bad': np.nan}

    summary = run(FakeHardware(two_joint_body()), Reporting(), 5)
    assert summary['reports'] == {'c': {'gain': 2.0, 'n': 3, 'v': [1.0, 1.0], 'bad': None}}

    class Failing(Following):
        def report(self):
            raise ValueError('no')

    summary = run(FakeHardware(two_joint_body()), Failing(), 5)
    assert summary['reports'] == {'c': {'error': 'report() raised ValueError: no'}}


def test_dropped_controllers_are_told():
    """A run that goes on without one of its controllers says so."""

    class Refusing(Following):
        def start(self) -> bool:
            return False

    hardware = FakeHardware(two_joint_body())
    managed = [ManagedController('a', Refusing()), ManagedController('b', Following())]
    host = ControllerHost(managed, hardware.body, hardware.time_step, io.StringIO())
    loop = wire_loop(hardware, host, trace=TickTrace(hardware.body))
    monitor = RunMonitor(loop)
    outcome = loop.run(0.05)
    summary = summarize(CONFIG, loop, monitor, outcome)
    assert summary['exit'] == 'completed'
    assert summary['errors'] == ["controller 'a', start(): returned False"]


class Turned(FakeHardware):
    """A floating link with an orientation."""

    def __init__(self, rotation) -> None:
        body = Body(BodyDescription('b', [LinkDescription('root', joint_type=JointType.FREE)]))
        super().__init__(body)
        self.rotation = rotation

    def read(self) -> bool:
        self.body.root_link.R = self.rotation
        return super().read()


class Idle(SimpleController):
    """Commands nothing."""

    def initialize(self, io) -> bool:
        return True

    def control(self) -> bool:
        return True


def test_tilt_of_a_root_that_is_turned_in_every_way() -> None:
    """The angle between its vertical axis and the world's, by the matrices of pinocchio."""
    rng = np.random.default_rng(5)
    for _ in range(5):
        axis = rng.normal(size=3)
        rotation = pin.exp3(axis / np.linalg.norm(axis) * 0.4)
        summary = run(Turned(rotation), Idle(), 3)
        expected = np.degrees(np.arccos(rotation[2, 2]))
        assert summary['max_tilt_deg'] == pytest.approx(expected, abs=1e-6)
        assert summary['real_time_factor'] > 0.0
        assert 'errors' not in summary


@pytest.mark.parametrize(
    ('value', 'plain'),
    [(None, None), ('x', 'x'), (True, True), (3, 3), (np.int64(4), 4), ({1}, '{1}')],
)
def test_reports_become_plain_values(value, plain) -> None:
    """What JSON has a word for stays, everything else becomes text."""
    assert _plain({'a': [value]}) == {'a': [plain]}


def test_tilt_counts_from_how_the_robot_began() -> None:
    """A robot that starts tilted has not tilted, and one that comes upright has."""

    class Righted(Turned):
        def __init__(self, first, then) -> None:
            super().__init__(then)
            self.body.root_link.R = first

    rng = np.random.default_rng(6)
    for _ in range(4):
        first, then = (pin.exp3(0.3 * rng.normal(size=3)) for _ in range(2))
        summary = run(Righted(first, then), Idle(), 3)
        # What was up in the axes of the root, then and now.
        cosine = first[2] @ then[2]
        assert summary['max_tilt_deg'] == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-6)


@pytest.mark.parametrize(
    ('height', 'share', 'fell'),
    [(0.4, 0.45, False), (0.4, 0.55, True), (2.0, 0.45, False), (2.0, 0.55, True)],
)
def test_a_fall_is_half_of_its_own_height(height, share, fell) -> None:
    """However tall the robot is."""
    summary = run(Tumbling(0.0, share * height / 40.0, height=height), _Idle(), 41)
    assert summary['fell'] is fell


def test_a_root_that_lies_low_cannot_sink() -> None:
    """A vehicle whose root is at the ground has not fallen when it dips a little."""
    hardware = Tumbling(0.0, 0.8 * LOW_ROOT / 40.0, height=0.9 * LOW_ROOT)
    assert run(hardware, _Idle(), 41)['fell'] is False


def test_the_real_time_factor_is_time_of_the_robot_by_time_on_the_wall() -> None:
    """Nothing where no time has passed."""
    hardware = FakeHardware(two_joint_body())
    host = ControllerHost([ManagedController('c', Idle())], hardware.body, 0.01, io.StringIO())
    loop = wire_loop(hardware, host, trace=TickTrace(hardware.body))
    monitor = RunMonitor(loop)
    for wall_time, factor in ((0.5, 2.0), (0.0, 0.0)):
        outcome = RunOutcome('completed', '', False, 100, wall_time, 0)
        assert summarize(CONFIG, loop, monitor, outcome)['real_time_factor'] == factor


def test_a_robot_that_is_dropped_has_not_fallen() -> None:
    """It is judged by how high it stands, not by where it was dropped from."""
    from cnoid_control import Simulation

    for height, pushed, fell in ((1.6, 0.0, False), (0.72, 600.0, True)):
        changes = {'robot.position': [0.0, 0.0, height]}
        with Simulation('sr1', changes=changes, record=False) as simulation:
            simulation.run(1.0)
            if pushed:
                simulation.push('WAIST', [pushed, 0.0, 0.0], 0.3)
            assert simulation.run(1.5)['fell'] is fell
