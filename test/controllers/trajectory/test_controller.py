"""The trajectory controller in the loop, on an ideal robot and on a simulated one."""

from dataclasses import replace

import numpy as np
import pytest
from fake_hardware import two_joint_body

from cnoid_control.controllers.trajectory import TrajectoryController
from cnoid_control.controllers.trajectory.exceptions import InvalidTrajectory
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.parameters import ParameterError
from cnoid_control.plugin.mailbox import JointTrajectory
from cnoid_control.plugin.trajectory_goal import FollowTrajectory, GoalState
from cnoid_control.runtime.build import wire_loop
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.managed_controller import ManagedController

DT = 0.002
NAMES = ('joint0', 'joint1')


class Rig:
    """The controller in a loop that a test steps."""

    def __init__(self, hardware, **options):
        """Open the loop."""
        self.managed = ManagedController('trajectory', TrajectoryController(), options)
        host = ControllerHost([self.managed], hardware.body, DT)
        self.loop = wire_loop(hardware, host)
        self.loop.open()
        self.body = hardware.body
        self.mailbox = self.managed.io.mailboxes['follow_joint_trajectory']

    def run(self, duration):
        """Step and return the joint positions of every tick."""
        rows = []
        for _ in range(round(duration / DT)):
            self.loop.step()
            rows.append(self.body.q.copy())
        return np.array(rows)


def kinematic_rig(**options):
    """Return a rig on the ideal robot."""
    hardware = KinematicHardware(two_joint_body(), KinematicParameters(), DT)
    return Rig(hardware, actuators='servo', **options)


def goal(times, positions, names=NAMES, **fields):
    """Return a goal of position points."""
    points = JointTrajectory(names=names, times=np.array(times), positions=np.array(positions))
    return FollowTrajectory(trajectory=points, **fields)


def test_it_holds_without_a_goal():
    """Without a goal the joints stay where they are."""
    hardware = KinematicHardware(two_joint_body(), KinematicParameters(), DT)
    hardware.body.q[:] = [0.3, -0.2]
    rig = Rig(hardware, actuators='servo')
    np.testing.assert_allclose(rig.run(0.1), [[0.3, -0.2]] * 50)
    assert rig.managed.controller.report()['following'] is False


def test_the_robot_follows_a_goal_of_the_mailbox():
    """An ideal robot is at the points at their times, two ticks later, and the goal succeeds."""
    rig = kinematic_rig(goal_tolerance=0.01, goal_time=0.5)
    wanted = goal([0.2, 0.4], [[0.5, 0.1], [1.0, -0.2]], names=('joint1', 'joint0'))
    rig.mailbox.post(wanted)
    rows = rig.run(0.5)
    np.testing.assert_allclose(rows[round(0.2 / DT) + 1], [0.1, 0.5], atol=0.02)
    np.testing.assert_allclose(rows[-1], [-0.2, 1.0], atol=1e-9)
    assert wanted.handle.state is GoalState.SUCCEEDED


def test_the_status_tells_reference_and_measurement():
    """The mailbox's status has the reference, the measured state and the command."""
    rig = kinematic_rig()
    rig.mailbox.post(goal([0.5], [[1.0, 1.0]]))
    rig.run(0.25)
    status = rig.mailbox.status
    assert status.names == NAMES
    assert status.time == pytest.approx(0.25 - DT)
    assert 0.4 < status.q[0] < 0.5
    np.testing.assert_array_equal(status.output, status.q)
    assert status.q_actual[0] == pytest.approx(status.q[0], abs=0.02)


def test_goals_that_cannot_be_followed_are_refused_at_the_door():
    """A partial goal is refused by default, and followed where the option allows it."""
    partial = goal([0.2], [[0.5]], names=('joint1',))
    with pytest.raises(InvalidTrajectory, match=r'left out.*joint0'):
        kinematic_rig().mailbox.post(partial)
    rig = kinematic_rig(allow_partial_joints_goal=True)
    rig.mailbox.post(partial)
    np.testing.assert_allclose(rig.run(0.3)[-1], [0.0, 0.5], atol=1e-9)


def test_options_change_while_it_runs():
    """New gains and tolerances hold from the next goal on; a list of the wrong size is refused."""
    rig = kinematic_rig()
    controller = rig.managed.controller
    old = controller.parameters
    with pytest.raises(ParameterError, match='path_tolerance'):
        controller.update_parameters(old, replace(old, path_tolerance=[1.0] * 3))
    with pytest.raises(ParameterError, match='kp: position servos take positions only'):
        controller.update_parameters(old, replace(old, kp=7.0))
    controller.update_parameters(old, replace(old, path_tolerance=1e-6))
    wanted = goal([0.2], [[1.0, 1.0]])
    rig.mailbox.post(wanted)
    rig.run(0.3)
    assert wanted.handle.state is GoalState.ABORTED


def test_stopping_the_controller_ends_its_goal():
    """A goal that is under way when the controller is stopped is aborted."""
    rig = kinematic_rig()
    wanted = goal([5.0], [[1.0, 1.0]])
    rig.mailbox.post(wanted)
    rig.run(0.1)
    rig.loop.close()
    assert wanted.handle.state is GoalState.ABORTED
    assert 'stopped' in wanted.handle.text


def test_a_simulated_robot_is_moved_by_torques():
    """With torques of its own PD the controller brings a simulated arm to the goal."""
    hardware = MujocoHardware(two_joint_body(), MujocoParameters(floor=False, gravity=0.0), DT)
    rig = Rig(
        hardware, actuators='controller', kp=400.0, kd=40.0, goal_tolerance=0.02, goal_time=2.0
    )
    wanted = goal([1.0], [[0.4, -0.6]])
    rig.mailbox.post(wanted)
    rows = rig.run(2.0)
    assert wanted.handle.state is GoalState.SUCCEEDED, wanted.handle.text
    np.testing.assert_allclose(rows[-1], [0.4, -0.6], atol=0.02)
