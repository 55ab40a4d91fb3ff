"""What is copied between the robot and the controllers' bodies, and what is not."""

from __future__ import annotations

import io

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control import SimpleController, StateFlag
from cnoid_control.body import Body, ContactPoint, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.joint_values import GAIN_ARRAYS
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.exceptions import ControllerFailed
from cnoid_control.runtime.io_transfer import joint_copies
from cnoid_control.runtime.managed_controller import ManagedController


class Scripted(SimpleController):
    """Does in initialize() and control() what a test says."""

    def __init__(self, setup, work=lambda body: None) -> None:
        self.setup, self.work = setup, work

    def initialize(self, io):
        self.body = io.body
        self.setup(io)
        return True

    def control(self):
        self.work(self.body)
        return True


def host_of(body: Body, *controllers: SimpleController) -> ControllerHost:
    """Host that is ready for its first tick."""
    managed = [ManagedController('abc'[i], one) for i, one in enumerate(controllers)]
    host = ControllerHost(managed, body, 0.01, io.StringIO())
    host.configure()
    host.initialize()
    host.start()
    return host


def row_of_joints(count: int) -> Body:
    """Free root with a chain of joints."""
    links = [LinkDescription('root', joint_type=JointType.FREE)]
    for i in range(count):
        links.append(
            LinkDescription(f'link{i}', links[-1].name, joint_type=JointType.REVOLUTE, joint_id=i)
        )
    return Body(BodyDescription('row', links))


@pytest.mark.parametrize(
    ('flag', 'array'),
    [
        (StateFlag.JOINT_DISPLACEMENT, 'q'),
        (StateFlag.JOINT_VELOCITY, 'dq'),
        (StateFlag.JOINT_ACCELERATION, 'ddq'),
        (StateFlag.JOINT_EFFORT, 'u'),
    ],
)
@pytest.mark.parametrize('enabled', [[0, 1, 2, 3], [1, 2], [0, 3], [2]])
def test_only_enabled_joints_are_read(flag, array, enabled):
    """The others keep their initial value, whichever joints are enabled."""
    body = row_of_joints(4)
    getattr(body, array)[:] = 7.0
    controller = Scripted(lambda io: [io.enable_input(io.body.joint(i), flag) for i in enabled])
    host = host_of(body, controller)
    for name in ('q', 'dq', 'ddq', 'u'):
        getattr(body, name)[:] = [1.0, 2.0, 3.0, 4.0]
    host.control(0, 0.0)
    expected = [i + 1.0 if i in enabled else 7.0 for i in range(4)]
    np.testing.assert_array_equal(getattr(controller.body, array), expected)
    for other in {'q', 'dq', 'ddq', 'u'} - {array}:
        np.testing.assert_array_equal(getattr(controller.body, other), np.zeros(4))


@pytest.mark.parametrize(
    ('flag', 'array'),
    [
        (StateFlag.JOINT_DISPLACEMENT, 'q_target'),
        (StateFlag.JOINT_VELOCITY, 'dq_target'),
        (StateFlag.JOINT_ACCELERATION, 'ddq'),
        (StateFlag.JOINT_EFFORT, 'u'),
    ],
)
@pytest.mark.parametrize('enabled', [[0, 1, 2, 3], [1, 2], [0, 3]])
def test_only_enabled_joints_are_commanded(flag, array, enabled):
    """What is written to the others goes nowhere."""
    body = row_of_joints(4)

    def write(own):
        for name in ('q_target', 'dq_target', 'ddq', 'u'):
            getattr(own, name)[:] = 5.0

    setup = lambda io: [io.enable_output(io.body.joint(i), flag) for i in enabled]  # noqa: E731
    host_of(body, Scripted(setup, write)).control(0, 0.0)
    expected = [5.0 if i in enabled else 0.0 for i in range(4)]
    np.testing.assert_array_equal(getattr(body, array), expected)
    for other in {'dq_target', 'ddq', 'u'} - {array}:
        np.testing.assert_array_equal(getattr(body, other), np.zeros(4))
    assert [joint.actuation_mode == flag for joint in body.joints] == [
        i in enabled for i in range(4)
    ]


def test_reference_goes_along_in_torque_mode():
    """q_target of a joint that is commanded by torque is the controller's reference."""
    body = two_joint_body()

    def write(own):
        own.u[:] = 1.0
        own.q_target[:] = [0.5, 0.6]

    setup = lambda io: io.enable_output(io.body.joint(0), StateFlag.JOINT_TORQUE)  # noqa: E731
    host_of(body, Scripted(setup, write)).control(0, 0.0)
    np.testing.assert_array_equal(body.q_target, [0.5, 0.0])


def test_mode_is_read_at_the_end_of_initialize():
    """enable_output without flags follows the mode that is set later."""
    body = two_joint_body()

    def setup(io):
        io.enable_output(io.body.joint(0))
        io.body.joint(0).actuation_mode = StateFlag.JOINT_VELOCITY

    host = host_of(body, Scripted(setup))
    assert host.request().outputs == {'arm0': StateFlag.JOINT_VELOCITY}


def test_link_states_are_read_as_enabled():
    """Pose, twist, acceleration, wrench and contacts cross by their own flags."""
    flags = {
        StateFlag.LINK_POSITION: ('p', 'R'),
        StateFlag.LINK_TWIST: ('v', 'w'),
        StateFlag.LINK_ACCELERATION: ('dv', 'dw'),
        StateFlag.LINK_EXT_WRENCH: ('F_ext',),
        StateFlag.LINK_CONTACT_STATE: ('contact_points',),
    }
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    values = {name: np.arange(3.0) + i for i, name in enumerate(('p', 'v', 'w', 'dv', 'dw'))}
    values |= {'R': turn, 'F_ext': np.arange(6.0)}
    for index in (0, 2):
        for flag, names in flags.items():
            body = row_of_joints(2)
            setup = lambda io, f=flag, i=index: io.enable_input(io.body.links[i], f)  # noqa: E731
            controller = Scripted(setup)
            host = host_of(body, controller)
            link = body.links[index]
            for name, value in values.items():
                setattr(link, name, value)
            link.contact_points = [ContactPoint(np.ones(3), np.ones(3), np.ones(3))]
            host.control(0, 0.0)
            own = controller.body.links[index]
            for name, value in values.items():
                assert np.array_equal(getattr(own, name), value) == (name in names), (flag, name)
            assert bool(own.contact_points) == ('contact_points' in names)


def test_link_poses_are_commanded():
    """The root goes where a controller with LINK_POSITION puts it."""
    body = row_of_joints(1)

    def put(own):
        own.root_link.p = np.array([1.0, 2.0, 3.0])

    setup = lambda io: io.enable_output(io.body.root_link, StateFlag.LINK_POSITION)  # noqa: E731
    host_of(body, Scripted(setup, put)).control(0, 0.0)
    np.testing.assert_array_equal(body.root_link.p, [1.0, 2.0, 3.0])


def test_external_wrenches_of_controllers_add_up():
    """Two controllers that push the same link push together, anew in each tick."""
    body = row_of_joints(1)

    def push(own):
        own.root_link.F_ext = np.array([0.0, 0.0, 10.0, 0.0, 0.0, 0.0])

    setup = lambda io: io.enable_output(io.body.root_link, StateFlag.LINK_EXT_WRENCH)  # noqa: E731
    host = host_of(body, Scripted(setup, push), Scripted(setup, push))
    for tick in range(3):
        host.control(tick, 0.0)
        np.testing.assert_array_equal(body.root_link.F_ext, [0, 0, 20, 0, 0, 0])
    assert 'latter wins' not in host.os.getvalue()


def test_controllers_do_not_see_each_other():
    """All inputs are taken before anything is commanded."""
    body = two_joint_body()
    body.u[:] = [1.0, 2.0]
    seen = []

    def setup(io):
        io.enable_output(io.body.joint(0), StateFlag.JOINT_TORQUE)
        io.enable_input(io.body.joint(0), StateFlag.JOINT_EFFORT)

    def work(own):
        seen.append(float(own.u[0]))
        own.u[0] = 50.0

    host = host_of(body, Scripted(setup, work), Scripted(setup, work))
    body.u[:] = [3.0, 4.0]
    host.control(0, 0.0)
    assert seen == [3.0, 3.0]


def test_virtual_joints_are_read_too():
    """A joint without an id can be enabled through its link."""
    links = [
        LinkDescription('root', joint_type=JointType.FIXED),
        LinkDescription('wheel', 'root', joint_type=JointType.REVOLUTE),
    ]
    body = Body(BodyDescription('cart', links))
    controller = Scripted(
        lambda io: io.enable_input(io.body.link('wheel'), StateFlag.JOINT_DISPLACEMENT)
    )
    host = host_of(body, controller)
    body.link('wheel').q = 0.7
    host.control(0, 0.0)
    assert controller.body.link('wheel').q == 0.7


def test_only_what_the_mode_says_is_commanded_of_a_link():
    """A link whose joint is commanded by torque is neither placed nor pushed."""
    body = row_of_joints(1)

    def work(own):
        own.joint(0).F_ext = np.ones(6)
        own.root_link.p = np.ones(3)
        own.root_link.F_ext = np.ones(6)

    def setup(io):
        io.enable_output(io.body.joint(0), StateFlag.JOINT_TORQUE)
        io.enable_output(io.body.root_link, StateFlag.LINK_TWIST)

    host_of(body, Scripted(setup, work)).control(0, 0.0)
    np.testing.assert_array_equal(body.joint(0).F_ext, np.zeros(6))
    np.testing.assert_array_equal(body.root_link.F_ext, np.zeros(6))
    np.testing.assert_array_equal(body.root_link.p, np.zeros(3))


def test_a_push_of_somebody_else_stays_where_no_controller_pushes():
    """Only controllers that push have the wrenches cleared at the start of the tick."""
    body = row_of_joints(1)
    setup = lambda io: io.enable_output(io.body.joint(0), StateFlag.JOINT_TORQUE)  # noqa: E731
    host = host_of(body, Scripted(setup))
    body.root_link.F_ext = np.ones(6)
    host.control(0, 0.0)
    np.testing.assert_array_equal(body.root_link.F_ext, np.ones(6))


@pytest.mark.parametrize(
    ('mode', 'crosses'), [(StateFlag.JOINT_PID, True), (StateFlag.JOINT_TORQUE, False)]
)
def test_gains_are_part_of_the_command_of_a_pid_actuator(mode, crosses):
    """They cross in that mode, and in no other."""
    body = row_of_joints(1)

    def work(own):
        for name in GAIN_ARRAYS:
            own.joint_arrays[name][:] = 7.0

    setup = lambda io: io.enable_output(io.body.joint(0), mode)  # noqa: E731
    host = host_of(body, Scripted(setup, work))
    before = [body.joint_arrays[name][0] for name in GAIN_ARRAYS]
    assert 7.0 not in before
    host.control(0, 0.0)
    after = [body.joint_arrays[name][0] for name in GAIN_ARRAYS]
    assert after == ([7.0] * len(GAIN_ARRAYS) if crosses else before)


@pytest.mark.parametrize('enabled', [[1, 2], [0, 1], [2, 3]])
def test_joints_in_a_row_are_copied_in_one_piece(enabled):
    """Neither one less nor one more, wherever the row stands."""
    body, other = row_of_joints(4), row_of_joints(4)
    other.q[:] = 1.0, 2.0, 3.0, 4.0
    copies = joint_copies(body, other, {'q': [other.joint(i) for i in enabled]})
    assert len(copies) == 1
    copies[0]()
    assert copies[0].func is not np.copyto, 'a slice, not a mask'
    expected = [other.q[i] if i in enabled else 0.0 for i in range(4)]
    np.testing.assert_array_equal(body.q, expected)


@pytest.mark.parametrize(
    ('mode', 'name', 'value'),
    [
        (StateFlag.LINK_POSITION, 'p', [0.0, np.nan, 0.0]),
        (StateFlag.LINK_POSITION, 'R', np.full((3, 3), np.inf)),
        (StateFlag.LINK_TWIST, 'w', [0.0, 0.0, np.nan]),
        (StateFlag.LINK_ACCELERATION, 'dv', [np.nan, 0.0, 0.0]),
        (StateFlag.LINK_EXT_WRENCH, 'F_ext', np.full(6, np.nan)),
    ],
)
def test_commands_to_links_are_finite(mode, name, value):
    """One that is not fails the controller and never reaches the robot."""
    body = two_joint_body()

    def work(own):
        setattr(own.root_link, name, np.array(value))

    setup = lambda io: io.enable_output(io.body.root_link, mode)  # noqa: E731
    host = host_of(body, Scripted(setup, work))
    with pytest.raises(ControllerFailed, match=f'{name} of link .* is commanded as'):
        host.control(0, 0.0)
    assert np.isfinite(getattr(body.root_link, name)).all()
