"""The task controller as a plug-in: configs, messages, time-outs, outputs and reports."""

import io as streams
import json

import numpy as np
import pytest

from cnoid_control.body import Body, JointType, StateFlag, load_body
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.exceptions import UnknownJoint, UnknownLink
from cnoid_control.body.gains import joint_gains
from cnoid_control.cli.main import main
from cnoid_control.controllers.tasks.controller import TasksController
from cnoid_control.controllers.tasks.exceptions import (
    TaskError,
)
from cnoid_control.controllers.tasks.parameters import TasksParameters
from cnoid_control.parameters import ParameterError, parse_parameters
from cnoid_control.plugin.controller_io import ControllerConfig, ControllerIO
from cnoid_control.plugin.mailbox import JointValues, Pose, Twist

DT = 0.002


def options(**changes):
    """Options of a hand task on the arm."""
    values = {
        'joint_group': 'all',
        'tasks': {'hand': {'type': 'body_position', 'link': 'hand', 'gain': 5.0}},
    }
    return {**values, **changes}


def start(arm, **changes):
    """Initialize a controller with options; the robot is an ideal one that the test moves."""
    parameters = parse_parameters(TasksParameters, options(**changes), 'tasks')
    io = ControllerIO('tasks', arm.clone(), DT, '', parameters, streams.StringIO())
    controller = TasksController()
    assert controller.initialize(io)
    return controller, io


def run(controller, io, ticks):
    """Run ticks on an ideal robot that is where it was commanded to be."""
    for _ in range(ticks):
        assert controller.control() is True
        io.current_time += DT
        io.body.q[:] = io.body.q_target
        io.body.dq[:] = controller.model.dq


def test_joint_group_is_mandatory():
    """Without a joint group nothing starts."""
    with pytest.raises(ParameterError, match=r'tasks\.joint_group: is missing'):
        parse_parameters(TasksParameters, {}, 'tasks')


@pytest.mark.parametrize(
    ('changes', 'error', 'message'),
    [
        ({'joint_group': 'legs'}, TaskError, "unknown joint group 'legs'.*all, wrist"),
        ({'tasks': {'t': {'type': 'fly'}}}, TaskError, "unknown task type 'fly'.*joint_velocity"),
        ({'tasks': {'t': {'type': 'body_velocity', 'link': 'foot'}}}, UnknownLink, "'foot'.*hand"),
        ({'tasks': {'t': {'type': 'body_velocity'}}}, TaskError, r't\.link is missing'),
        ({'groups': {'g': {'joints': ['knee']}}}, UnknownJoint, "'knee'.*joint1"),
        ({'tasks': {'t': {'type': 'com', 'parent': 'x'}}}, TaskError, "unknown task 'x'.*t"),
        (
            {'constraints': {'c': {'type': 'luck'}}},
            TaskError,
            "unknown constraint type 'luck'.*workspace",
        ),
        (
            {'constraints': {'c': {'type': 'joint_velocity', 'joint_group': 'g'}}},
            TaskError,
            r"c\.joint_group.*'g'",
        ),
        (
            {'tasks': {'t': {'type': 'body_position', 'link': 'hand', 'target': [1.0]}}},
            TaskError,
            'roll pitch yaw',
        ),
        (
            {
                'tasks': {
                    't': {
                        'type': 'com',
                        'motion': {'type': 'waypoints', 'times': [1.0], 'offsets': [1.0]},
                    }
                }
            },
            TaskError,
            't.motion',
        ),
    ],
)
def test_mistakes_are_told_at_configure(arm, changes, error, message):
    """What does not exist or fit is named with what does."""
    groups = {'wrist': {'joints': ['joint5', 'joint6', 'joint7']}}
    parameters = parse_parameters(
        TasksParameters, {'groups': groups, **options(**changes)}, 'tasks'
    )
    config = ControllerConfig('tasks', arm, '', parameters)
    with pytest.raises(error, match=message):
        TasksController().configure(config)


@pytest.mark.parametrize(
    ('output', 'mode'),
    [
        ('velocity', StateFlag.JOINT_VELOCITY),
        ('position', StateFlag.JOINT_DISPLACEMENT),
        ('torque', StateFlag.JOINT_TORQUE),
    ],
)
def test_outputs_command_their_mode(arm, output, mode):
    """Each output is enabled as its own actuation mode and is written."""
    controller, io = start(arm, output=output)
    goal = np.array(arm.link('hand').T)
    goal[2, 3] -= 0.05
    io.mailboxes['hand/target'].post(Pose(T=goal))
    run(controller, io, 3)
    assert all(joint.actuation_mode is mode for joint in io.body.joints)
    written = {
        'velocity': io.body.dq_target,
        'position': io.body.q_target - arm.q,
        'torque': io.body.u,
    }[output]
    assert np.abs(written).max() > 1e-5


def test_a_pose_message_is_reached(arm):
    """A pose in the frame of a link is where the hand ends, for measured and commanded state."""
    goal = np.array(arm.link('hand').T)
    goal[:3, 3] += [0.03, -0.05, -0.04]
    base = arm.link('shoulder_yaw')
    for state in ('measured', 'commanded'):
        controller, io = start(arm, state=state)
        in_frame = np.linalg.inv(base.T) @ goal
        io.mailboxes['hand/target'].post(Pose(frame='shoulder_yaw', T=in_frame))
        run(controller, io, 1500)
        io.body.calc_forward_kinematics()
        # The frame is read when the message comes; the goal stays where it was then.
        np.testing.assert_allclose(io.body.link('hand').T, goal, atol=1e-4)


def test_messages_that_do_not_fit_are_refused(arm):
    """A message with NaN or an unknown frame is told once, and the motion goes on as it was."""
    controller, io = start(arm)
    run(controller, io, 5)
    for message in (
        Pose(T=np.full((4, 4), np.nan)),
        Pose(frame='moon'),
        Pose(T=2.0 * np.eye(4)),
    ):
        io.mailboxes['hand/target'].post(message)
        run(controller, io, 2)
    np.testing.assert_allclose(io.body.q_target, arm.q, atol=1e-9)
    assert io.os.getvalue().count('target') == 1


def test_joint_messages_go_by_name(arm):
    """Joints are found by name; those not named stay."""
    controller, io = start(
        arm, tasks={'joints': {'type': 'joint_position', 'joint_group': 'all', 'gain': 20.0}}
    )
    run(controller, io, 1)
    io.mailboxes['joints/target'].post(
        JointValues(names=('joint6', 'joint2'), position=np.array([0.9, 0.4]))
    )
    run(controller, io, 1000)
    expected = arm.q.copy()
    expected[[5, 1]] = [0.9, 0.4]
    np.testing.assert_allclose(io.body.q_target, expected, atol=1e-5)


def test_a_target_that_stops_coming_stops_the_motion_smoothly(arm):
    """After the time-out the velocity fades out in the stop time, without a jump, and back."""
    controller, io = start(
        arm,
        solver='sum',
        tasks={
            'hand': {'type': 'body_velocity', 'link': 'hand', 'timeout': 0.1, 'stop_time': 0.2}
        },
    )
    speeds = []
    for tick in range(400):
        if tick < 50 or tick > 350:
            io.mailboxes['hand/target'].post(Twist(linear=np.array([0.0, 0.0, 0.1])))
        run(controller, io, 1)
        speeds.append(np.abs(controller.model.dq).max())
    speeds = np.array(speeds)
    assert speeds[90] == pytest.approx(speeds[40], rel=0.2)
    assert speeds[250:350].max() < 1e-9
    assert speeds[-1] > 0.1 * speeds[40]
    assert np.abs(np.diff(speeds[1:])).max() < 0.05 * speeds[40]


def test_parameters_change_while_running(arm):
    """Switches, gains and limits are taken over between two ticks."""
    changed = {'type': 'body_position', 'link': 'hand', 'gain': 5.0, 'enabled': False}
    controller, io = start(arm)
    goal = np.array(arm.link('hand').T)
    goal[0, 3] += 0.1
    io.mailboxes['hand/target'].post(Pose(T=goal))
    run(controller, io, 10)
    assert np.abs(controller.model.dq).max() > 1e-3
    new = parse_parameters(TasksParameters, options(tasks={'hand': changed}), 'tasks')
    controller.update_parameters(controller.parameters, new)
    run(controller, io, 1)
    assert np.abs(controller.model.dq).max() < 1e-9


def test_the_report_says_what_limits_and_how_far_it_is(arm):
    """The limiting constraint, its joint and the distance of each task are in the report."""
    controller, io = start(
        arm,
        constraints={'speed': {'type': 'joint_velocity', 'joint_group': 'all', 'maximum': 0.05}},
    )
    goal = np.array(arm.link('hand').T)
    goal[2, 3] -= 0.2
    io.mailboxes['hand/target'].post(Pose(T=goal))
    run(controller, io, 51)
    report = controller.report()
    assert 'speed(joint' in report['limited_by']
    assert 0.0 < report['scaling_factor'] < 1.0
    assert report['hand.error'] == pytest.approx(0.2, abs=0.02)
    assert io.log_fields['limited_by.speed'] >= 1.0
    assert np.linalg.norm(io.log_fields['hand.error']) == report['hand.error']
    assert 0.0 < io.log_fields['scaling_factor'] < 1.0


def test_no_solution_brakes(arm):
    """Where hard constraints contradict each other the velocities fade out."""
    controller, io = start(
        arm, tasks={'all': {'type': 'joint_velocity', 'joint_group': 'all', 'target': [0.5] * 7}}
    )
    run(controller, io, 10)
    assert controller.model.dq == pytest.approx(0.5, abs=1e-4)
    box = controller.factory.make_constraint(
        'box', parse_parameters(_constraint(), {'type': 'body_velocity', 'link': 'hand'}, 'c')
    )
    box.update = lambda kinematics, dt: None
    box.lower, box.upper = np.full(6, 50.0), np.full(6, 60.0)
    controller.tasks.add_constraint(box)
    limit = controller.factory.make_constraint(
        'v',
        parse_parameters(
            _constraint(), {'type': 'joint_velocity', 'joint_group': 'all', 'maximum': 1.0}, 'c'
        ),
    )
    controller.tasks.add_constraint(limit)
    run(controller, io, 1)
    assert np.abs(controller.model.dq).max() < 0.5
    run(controller, io, 300)
    assert np.abs(controller.model.dq).max() < 1e-2


def _constraint():
    from cnoid_control.controllers.tasks.parameters import ConstraintParameters

    return ConstraintParameters


def summary(capsys, *arguments):
    """Run the command line and give its summary."""
    assert main(['run', *arguments, '--json']) == 0
    return json.loads(capsys.readouterr().out)


def test_the_arm_draws_its_circle(capsys):
    """The shipped arm follows the circle in physics, and its elbow stays in its box."""
    result = summary(capsys, 'arm_circle', '--duration', '3')
    assert result['exit'] == 'completed'
    assert result['max_joint_error'] < 0.01
    assert result['reports']['tasks']['hand.error'] < 0.03


def test_sr1_squats_and_reaches(capsys):
    """SR1 goes down with its hands out, and does not fall."""
    result = summary(capsys, 'sr1_reach', '--duration', '3')
    assert result['root_position'][2] < 0.62
    assert result['fell'] is False
    assert result['max_tilt_deg'] < 3.0
    assert result['max_joint_error'] < 0.03
    assert result['reports']['tasks']['left_foot.error'] < 1e-3


def test_torques_need_no_gains(arm):
    """They are the robot's where none are given; a list of another length is refused."""
    own = joint_gains(arm, DT)
    controller, io = start(arm, output='torque')
    io.body.q[:] += 1e-3
    still = start(arm, output='torque')
    for one in (controller, still[0]):
        assert one.control() is True
    np.testing.assert_allclose(still[1].body.u - io.body.u, 1e-3 * own.kp, rtol=1e-6, atol=1e-9)
    with pytest.raises(ParameterError, match=r'pgain: .* it needs 1 or \d+ values'):
        start(arm, output='torque', pgain=[1.0, 2.0])


def test_a_floating_base_is_carried_by_its_contacts():
    """Feed-forward torques and contact wrenches together hold the robot against gravity."""
    from cnoid_control.controllers.tasks.controller import TorqueOutput

    body = load_body('package://cnoid_control/urdf/sr1.urdf')
    output = TorqueOutput(body, [body.link('LLEG_ANKLE_R'), body.link('RLEG_ANKLE_R')])
    torques = output.feedforward()
    # Seen from the feet, each ankle carries half of what is above it, at the same lever.
    left, right = body.joint('LLEG_KNEE').joint_id, body.joint('RLEG_KNEE').joint_id
    assert torques[left] == pytest.approx(torques[right], abs=1e-6)
    fixed = TorqueOutput(body, []).feedforward()
    arm_joint = body.joint('LARM_SHOULDER_P').joint_id
    assert torques[arm_joint] == pytest.approx(fixed[arm_joint], abs=1e-9)
    assert abs(torques[left] - fixed[left]) > 0.1 or abs(torques - fixed).max() > 1.0


def test_holes_in_the_joint_ids_are_no_joints():
    """The group of all joints has those that exist."""
    links = [
        LinkDescription('base', joint_type=JointType.FIXED),
        LinkDescription('hand', 'base', joint_type=JointType.REVOLUTE, joint_id=1),
    ]
    controller, _ = start(Body(BodyDescription('r', links)))
    assert controller.tasks.joint_group.joint_names == ['hand']


def test_places_of_targets_are_logged_in_the_world(arm):
    """Poses of a body task in the axes of another link, the centre of mass, and a point."""
    pose = [0.1, 0.05, 0.2, 0.0, 0.0, 0.0]
    tasks = {
        'hand': {'type': 'body_position', 'link': 'hand', 'reference': 'base', 'target': pose},
        'com': {'type': 'com', 'target': [0.1, 0.2, 0.5]},
        'look': {'type': 'look_at', 'link': 'hand', 'target': [1.0, 2.0, 3.0]},
        'rest': {'type': 'joint_position', 'joint_group': 'all', 'enabled': False},
    }
    controller, io = start(arm, solver='qp', tasks=tasks)
    assert controller.control()
    logged, model = io.log_fields, arm
    base, hand = model.link('base'), model.link('hand')
    np.testing.assert_allclose(
        logged['hand.target'][:3, 3], base.p + base.R @ np.array(pose[:3]), atol=1e-9
    )
    np.testing.assert_allclose(logged['hand.frame'], hand.T, atol=1e-9)
    np.testing.assert_allclose(logged['com.target'], [0.1, 0.2, 0.5])
    np.testing.assert_allclose(logged['com.frame'], model.calc_center_of_mass(), atol=1e-9)
    np.testing.assert_allclose(logged['look.target'], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(logged['look.frame'], hand.p, atol=1e-9)
    active = {name: logged[f'{name}.active'] for name in tasks}
    assert active == {'hand': 1.0, 'com': 1.0, 'look': 1.0, 'rest': 0.0}
    assert 'rest.target' not in logged
