"""Strict io: what was not enabled is warned of, once; what was, is not."""

from __future__ import annotations

import io

import numpy as np
import pytest

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body import Body, Device, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.devices import ForceSensor, PointLight
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.strict_io import NAMES_SHOWN, _explain

Q, DQ = StateFlag.JOINT_DISPLACEMENT, StateFlag.JOINT_VELOCITY
U = StateFlag.JOINT_TORQUE


def robot() -> Body:
    """Free root with three joints, a force sensor and a light."""
    links = [LinkDescription('root', joint_type=JointType.FREE)]
    for i in range(3):
        links.append(
            LinkDescription(f'j{i}', links[-1].name, joint_type=JointType.REVOLUTE, joint_id=i)
        )
    devices: list[tuple[str, Device]] = [
        ('root', ForceSensor('force')),
        ('root', PointLight('light')),
    ]
    return Body(BodyDescription('robot', links, devices))


class Scripted(SimpleController):
    """Enables and does what a test says."""

    def __init__(self, setup, work) -> None:
        self.setup, self.work = setup, work

    def initialize(self, io):
        self.body = io.body
        self.cached_q = io.body.q
        self.setup(io)
        return True

    def control(self):
        self.work(self.body)
        return True


def enable(*flags_of_joints: StateFlag | None, output: StateFlag | None = None):
    """Set-up that enables inputs joint by joint, and torques or such for all."""

    def setup(io):
        for joint, flags in zip(io.body.joints, flags_of_joints, strict=False):
            if flags is not None:
                io.enable_input(joint, flags)
        if output is not None:
            for joint in io.body.joints:
                io.enable_output(joint, output)

    return setup


def warnings_of(setup, work, ticks: int = 2, strict: bool = True) -> list[str]:
    """What a strict run prints."""
    stream = io.StringIO()
    managed = [ManagedController('c', Scripted(setup, work))]
    host = ControllerHost(managed, robot(), 0.01, stream, strict)
    host.configure()
    host.initialize()
    host.start()
    for tick in range(ticks):
        host.control(tick, 0.0)
    lines = stream.getvalue().splitlines()
    # What only reads is warned of in any run.
    return [line for line in lines if 'nothing commands the robot' not in line]


READS = {
    'whole array': lambda body: body.q + 1.0,
    'function': lambda body: np.concatenate((body.q, body.q)),
    'matrix product': lambda body: np.eye(3) @ body.q,
    'copy': lambda body: body.q.copy(),
    'sum': lambda body: body.q.sum(),
    'norm': lambda body: np.linalg.norm(body.q),
    'element': lambda body: body.q[2],
    'fancy index': lambda body: body.q[[0, 2]],
    'slice': lambda body: 2.0 * body.q[1:],
    'list': lambda body: body.q.tolist(),
    'iteration': lambda body: list(body.q),
    'link': lambda body: body.joint(2).q,
    'kinematics': lambda body: body.calc_forward_kinematics(),
}


@pytest.mark.parametrize('way', READS)
def test_reading_what_is_not_enabled_is_warned_of(way):
    """By whatever way it is read; once, and with what to do about it."""
    lines = warnings_of(enable(Q, Q, DQ), READS[way])
    assert len(lines) == 1
    assert "'c' reads q of j2, not enabled: it keeps its initial value" in lines[0]
    assert 'io.enable_input(link, StateFlag.JOINT_DISPLACEMENT)' in lines[0]


@pytest.mark.parametrize('way', READS)
def test_reading_what_is_enabled_is_fine(way):
    """Nothing is said, and the values are the right ones."""
    assert warnings_of(enable(Q, Q, Q), READS[way]) == []


@pytest.mark.parametrize('way', READS)
def test_results_are_the_same_as_without(way):
    """A strict body computes what a plain one computes."""
    results = []
    for strict in (False, True):
        warnings_of(enable(Q, Q, Q), lambda body: results.append(READS[way](body)), 1, strict)
    plain, watched = results
    np.testing.assert_array_equal(watched, plain)
    assert type(watched) in (type(plain), np.ndarray)


def test_cached_arrays_are_watched():
    """An array that was fetched in initialize() is no way around."""
    seen = []

    class Caching(Scripted):
        def control(self):
            seen.append(self.cached_q * 2.0)
            return True

    stream = io.StringIO()
    managed = [ManagedController('c', Caching(enable(), None))]
    host = ControllerHost(managed, robot(), 0.01, stream, True)
    host.configure()
    host.initialize()
    host.start()
    host.control(0, 0.0)
    assert 'reads q of j0, j1, j2' in stream.getvalue()


def test_velocity_kinematics_need_velocities():
    """Forward kinematics with velocity read dq."""
    work = lambda body: body.calc_forward_kinematics(velocity=True)  # noqa: E731
    lines = warnings_of(enable(Q, Q, Q), work)
    assert len(lines) == 1
    assert 'reads dq of j0, j1, j2' in lines[0]
    assert 'StateFlag.JOINT_VELOCITY' in lines[0]


def test_initial_values_may_be_read_in_initialize():
    """The posture is known before the first tick."""
    setup = lambda io: io.body.q.copy()  # noqa: E731
    assert warnings_of(setup, lambda body: None) == []


def test_what_was_written_may_be_read():
    """A controller knows what it wrote itself."""

    def work(body):
        body.u[:] = 1.0
        body.u *= 2.0
        body.joint(0).u += 1.0

    assert warnings_of(enable(output=U), work) == []


def test_writing_without_effect_is_warned_of():
    """A command that the actuation mode does not use goes nowhere."""

    def work(body):
        body.u[:] = 1.0
        body.dq_target[1] += 1.0

    lines = warnings_of(enable(output=U), work)
    assert len(lines) == 1
    assert "'c' writes dq_target of j1 without effect; enable the output" in lines[0]


def test_gains_without_effect_are_warned_of():
    """They are commands of PID actuators alone."""

    def work(body):
        body.kp[:] += 1.0

    (line,) = warnings_of(enable(output=U), work)
    assert "'c' writes kp of j0, j1, j2 without effect" in line
    assert warnings_of(enable(output=StateFlag.JOINT_PID), work) == []


def test_reference_may_be_written_in_every_mode():
    """q_target is for the log and the plots too; not so where there is no output at all."""

    def work(body):
        body.q_target[:] += 1.0

    assert warnings_of(enable(output=U), work) == []
    assert 'writes q_target of j0, j1, j2 without effect' in warnings_of(enable(), work)[0]


def test_pushing_without_enabling_is_warned_of():
    """F_ext needs its output."""

    def work(body):
        body.root_link.F_ext = np.ones(6)

    lines = warnings_of(enable(), work)
    assert len(lines) == 1
    assert 'writes F_ext of root without effect' in lines[0]
    setup = lambda io: io.enable_output(io.body.root_link, StateFlag.LINK_EXT_WRENCH)  # noqa: E731
    assert warnings_of(setup, work) == []


def test_root_needs_enabling_or_an_estimate_of_its_own():
    """Its pose is read only where it is an input or was set."""
    work = lambda body: body.root_link.p + body.root_link.w  # noqa: E731
    lines = warnings_of(enable(), work)
    assert [line.split(',')[0] for line in lines] == [
        "warning: controller 'c' reads p of root",
        "warning: controller 'c' reads w of root",
    ]
    flags = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
    setup = lambda io: io.enable_input(io.body.root_link, flags)  # noqa: E731
    assert warnings_of(setup, work) == []

    def estimate(body):
        body.root_link.p = np.zeros(3)
        body.root_link.w = np.zeros(3)
        work(body)

    assert warnings_of(enable(), estimate) == []


def test_sensor_needs_enabling():
    """A force sensor that was not enabled reads zero for ever."""
    work = lambda body: body.devices[0].F[2] + body.devices[0].f[0]  # noqa: E731
    lines = warnings_of(enable(), work)
    assert len(lines) == 1
    assert "'c' reads force, not enabled: it stays as it was; io.enable_input" in lines[0]
    assert warnings_of(lambda io: io.enable_input(io.body.devices[0]), work) == []


def test_device_needs_notification():
    """A light that is switched in silence stays as it is."""

    def switch(body):
        body.devices[1].on = not body.devices[1].on

    lines = warnings_of(enable(), switch)
    assert len(lines) == 1
    assert "'c' changes light without effect; call notify_state_change()" in lines[0]

    def switch_and_say(body):
        switch(body)
        body.devices[1].notify_state_change()

    assert warnings_of(enable(), switch_and_say) == []


def test_watched_sensor_can_be_switched():
    """A sensor that is not read may still be switched off."""
    body = robot()

    def switch(own):
        own.devices[0].on = False
        own.devices[0].notify_state_change()

    host = ControllerHost(
        [ManagedController('c', Scripted(enable(), switch))], body, 0.01, io.StringIO(), True
    )
    host.configure()
    host.initialize()
    host.start()
    host.control(0, 0.0)
    assert not body.devices[0].on


def test_saving_the_state_uses_nothing():
    """A controller may save, clone and restore its body."""

    def work(body):
        body.restore_state(body.save_state())
        body.clone()

    assert warnings_of(enable(), work) == []


def test_without_strict_nothing_is_said():
    """The default is silence, as in Choreonoid."""
    assert warnings_of(enable(), READS['whole array'], strict=False) == []


def test_many_names_are_cut_short():
    """The first ones are listed, and the number of the others."""
    count = NAMES_SHOWN + 3
    names = [f'n{i}' for i in range(count)]
    text = _explain('q read', names)
    assert f'{names[NAMES_SHOWN - 1]} and 3 more' in text
    assert names[NAMES_SHOWN] not in text
    assert 'more' not in _explain('q read', names[:NAMES_SHOWN])


def test_pushing_a_link_that_is_commanded_otherwise_is_warned_of():
    """Its joint's torque is an output, its wrench is not."""

    def work(body):
        body.joint(0).F_ext = np.ones(6)

    lines = warnings_of(enable(output=U), work)
    assert ['writes F_ext of j0 without effect' in line for line in lines] == [True]


def test_kinematics_are_computed():
    """The watched call moves the links as the plain one does."""
    seen = []

    def work(body):
        body.q[:] = 0.5
        body.calc_forward_kinematics()
        seen.append(body.link('j2').R.copy())

    warnings_of(enable(Q, Q, Q), work, ticks=1)
    angle = 1.5
    about_z = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    np.testing.assert_allclose(seen[0][:2, :2], about_z, atol=1e-12)


def test_the_orientation_of_the_root_needs_enabling():
    """As its position does."""
    lines = warnings_of(enable(), lambda body: body.root_link.R @ np.ones(3))
    assert [line.split(',')[0] for line in lines] == ["warning: controller 'c' reads R of root"]


def test_a_device_needs_notification_in_every_tick():
    """One notification does not cover what is changed later."""
    ticks = []

    def switch(body):
        body.devices[1].on = not body.devices[1].on
        if not ticks:
            body.devices[1].notify_state_change()
        ticks.append(1)

    lines = warnings_of(enable(), switch, ticks=2)
    assert ["'c' changes light without effect" in line for line in lines] == [True]


def test_elements_are_read_one_by_one():
    """`item` reads what it names, and no more."""
    assert warnings_of(enable(Q, None, None), lambda body: body.q.item(0)) == []
    lines = warnings_of(enable(Q, None, None), lambda body: body.q.item(2))
    assert [line.split(',')[0] for line in lines] == ["warning: controller 'c' reads q of j2"]
    for read_all in (lambda body: body.q.max(0), lambda body: body.q.argmax(0)):
        lines = warnings_of(enable(Q, None, None), read_all)
        assert 'j1, j2' in lines[0]


def test_results_that_are_put_into_an_array_are_written_there():
    """What a function puts out may be read; several outputs come as they do elsewhere."""
    returned = []

    def work(body):
        one = np.add(np.zeros(3), 1.0, out=body.q)
        two = np.modf(np.array([0.5, 1.5, 2.5]), out=(body.dq, body.ddq))
        returned.append((one is body.q, len(two), body.q.tolist(), body.dq.tolist()))

    assert warnings_of(enable(), work, ticks=1) == []
    assert returned == [(True, 2, [1.0, 1.0, 1.0], [0.5, 0.5, 0.5])]


def test_an_estimate_of_another_link_is_none_of_the_root():
    """It is kept, and the root still needs enabling."""
    seen = []

    def work(body):
        body.links[1].v = np.array([1.0, 2.0, 3.0])
        seen.append(body.links[1].v.tolist())
        body.root_link.v + 1.0

    lines = warnings_of(enable(), work, ticks=1)
    assert seen == [[1.0, 2.0, 3.0]]
    assert [line.split(',')[0] for line in lines] == ["warning: controller 'c' reads v of root"]


def test_a_root_that_is_fixed_may_be_read():
    """It is where the model says."""
    links = [
        LinkDescription('root', joint_type=JointType.FIXED),
        LinkDescription('j0', 'root', joint_type=JointType.REVOLUTE, joint_id=0),
    ]
    stream = io.StringIO()
    body = Body(BodyDescription('arm', links))
    work = lambda own: own.root_link.p + own.root_link.R[0]  # noqa: E731
    managed = [ManagedController('c', Scripted(enable(), work))]
    host = ControllerHost(managed, body, 0.01, stream, True)
    host.configure()
    host.initialize()
    host.start()
    host.control(0, 0.0)
    assert [line for line in stream.getvalue().splitlines() if 'not enabled' in line] == []


def test_a_sensor_that_is_switched_is_not_enabled_for_that():
    """Reading it is warned of as before; a clone of the body has it, as a plain one."""

    def work(body):
        sensor = body.devices[0]
        sensor.on = not sensor.on
        sensor.notify_state_change()
        copy = body.clone().devices[0]
        assert type(copy) is ForceSensor
        assert copy.on == sensor.on

    assert warnings_of(enable(), work) == []
    lines = warnings_of(enable(), lambda body: work(body) or body.devices[0].F)
    assert len(lines) == 1
    assert "'c' reads force, not enabled" in lines[0]


def test_the_root_may_be_read_before_the_first_tick():
    """It is where it starts; other links are none of the root in a tick either."""
    seen = []

    def setup(io):
        seen.append(io.body.root_link.p + io.body.root_link.v)

    def work(body):
        seen.append(body.links[2].p + body.links[2].w)

    assert warnings_of(setup, work) == []
    assert len(seen) == 3


def test_a_device_may_be_read_before_the_first_tick():
    """As the joints may; in a tick it is warned of."""
    seen = []

    def setup(io):
        seen.append(io.body.devices[0].F.tolist())

    assert warnings_of(setup, lambda body: None) == []
    assert seen == [[0.0] * 6]


def test_accelerations_are_read_where_they_are_computed():
    """Forward kinematics with acceleration read dq and ddq."""
    work = lambda body: body.calc_forward_kinematics(acceleration=True)  # noqa: E731
    lines = warnings_of(enable(Q, Q, Q), work)
    assert [line.split(', not')[0] for line in lines] == [
        "warning: controller 'c' reads dq of j0, j1, j2",
        "warning: controller 'c' reads ddq of j0, j1, j2",
    ]
