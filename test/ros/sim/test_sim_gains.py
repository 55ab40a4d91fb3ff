"""The simulated robot with stiffness and damping interfaces: PD at the step of the physics."""

import numpy as np
import pytest

pytest.importorskip('controller_manager_msgs.srv', reason='interfaces are not built')

from controller_manager_msgs.srv import ListHardwareInterfaces
from mujoco_rig import POSTURE, Rig, write_arm
from sensor_msgs.msg import JointState

NAMES = ('position', 'velocity', 'effort', 'damping', 'stiffness')
CONTROLLERS = [f'{name}_controller' for name in NAMES]


@pytest.fixture
def robot(ros_context, ros_node, spin_until, tmp_path):
    """Return an arm without gravity at 50 Hz, whose physics have a step of 1 ms."""
    config = write_arm(tmp_path)
    text = config.read_text().replace('rate: 500.0', 'rate: 50.0')
    config.write_text(text.replace('floor: false', 'floor: false, gravity: 0.0, time_step: 0.001'))
    made = Rig(ros_context, ros_node, spin_until, config, pacing='lockstep', real_time_factor=0.0)
    yield made
    assert made.close() == ''


def run(robot, commands, ticks):
    """Answer so many states; the last one."""
    states = robot.listen(JointState, 'joint_states')
    send = {name: robot.command_controllers(f'{name}_controller/commands') for name in commands}
    for _ in range(ticks):
        assert robot.spin_until(lambda: states)
        state = states[-1]
        states.clear()
        for name, values in commands.items():
            send[name](values)
    return state


def commands(**values):
    """Commands of all interfaces; zero where nothing is said."""
    return {name: values.get(name, [0.0, 0.0]) for name in NAMES}


def test_the_five_interfaces_are_listed(robot):
    """Every joint has them, and those of active controllers are claimed."""
    assert robot.switch(['effort_controller']).ok
    answer = robot.call(ListHardwareInterfaces, 'controller_manager/list_hardware_interfaces')
    listed = {one.name: one.is_claimed for one in answer.command_interfaces}
    assert listed == {
        f'{joint}/{name}': name == 'effort' for joint in ('shoulder', 'elbow') for name in NAMES
    }
    assert 'elbow/velocity' in {one.name for one in answer.state_interfaces}


def test_gains_act_at_the_step_of_the_physics(robot):
    """A stiffness that 50 Hz could never hold settles where it balances the effort."""
    assert robot.switch(CONTROLLERS).ok
    target = np.add(POSTURE, [0.2, -0.1])
    stiff, damped, effort = np.array([4000.0, 2000.0]), [120.0, 40.0], np.array([20.0, -10.0])
    given = commands(position=target, stiffness=stiff, damping=damped, effort=effort)
    state = run(robot, given, 150)
    np.testing.assert_allclose(state.position, target + effort / stiff, atol=1e-4)


def test_without_stiffness_a_joint_is_damped(robot):
    """What the final command leaves: a joint that is pushed comes to rest, and does not return."""
    assert robot.switch(CONTROLLERS).ok
    run(robot, commands(position=POSTURE, effort=[0.0, 5.0], damping=[2.0, 2.0]), 10)
    rest = commands(position=POSTURE, damping=[2.0, 2.0])
    state = run(robot, rest, 150)
    assert np.abs(state.velocity).max() < 1e-3
    assert state.position[1] > POSTURE[1] + 0.05


def test_a_joint_waits_for_all_of_its_interfaces(robot):
    """Until all have come nothing acts: three of them without gains are a stiff servo."""
    assert robot.switch(CONTROLLERS).ok
    loop = robot.loop
    inputs = robot.robot._active_inputs()
    for one in inputs:
        one.values[:] = 0.3 if one.interface in NAMES[:3] else np.nan
    loop.actuation.apply(inputs)
    assert not loop.actuation._interfaces.any()
    for one in inputs:
        one.values[:] = 0.3
    loop.actuation.apply(inputs)
    assert (loop.actuation._interfaces == 31).all()
    # One that is gone leaves its last value.
    loop.actuation.apply([one for one in inputs if one.interface != 'stiffness'])
    assert (loop.actuation._interfaces == 31).all()
    assert robot.robot.body.kp.tolist() == [0.3, 0.3]
