"""MJCF files run as they are, with the loop's commands on the robot's joints."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from hardware.conftest import make_request

from cnoid_control.body import JointType, StateFlag
from cnoid_control.body.formats.load import load_body
from cnoid_control.hardware.exceptions import HardwareError, UnsupportedChannel
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import MujocoParameters, ObjectParameters

MOTION = StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY | StateFlag.JOINT_EFFORT
PERIOD = 0.002

# The second link turns about a point beside its origin; the robot is not first in the file.
ARM = """
<mujoco model="arm">
  <compiler angle="radian"/>
  <option integrator="{integrator}" timestep="0.002" cone="elliptic"/>
  <default><joint damping="0.2" armature="0.01" frictionloss="0.05"/></default>
  <worldbody>
    <body name="ball" pos="3 0 0.1"><freejoint/><geom size="0.1" mass="1"/></body>
    <body name="base" pos="0 0 1">
      <geom type="box" size="0.1 0.1 0.1" contype="0" conaffinity="0"/>
      <body name="upper"><joint name="shoulder" axis="0 1 0" actuatorfrcrange="-20 20"/>
        <geom name="rod" type="capsule" size="0.03" fromto="0 0 0 0.4 0 0" mass="1"/>
        <body name="lower" pos="0.4 0 0">
          <joint name="elbow" axis="0 1 0" pos="0 0 0.02" range="-2 2"/>
          <geom type="capsule" size="0.03" fromto="0 0 0 0.3 0 0" mass="0.5"/>
          <site name="tip" pos="0.3 0 0" euler="0 3.1416 0"/>
        </body>
      </body>
    </body>
  </worldbody>
  <actuator>{actuators}</actuator>
  <sensor>
    <gyro name="gyro" site="tip"/><accelerometer name="acc" site="tip"/>
    <torque name="twist" site="tip"/><framequat name="attitude" objtype="site" objname="tip"/>
    <rangefinder name="sonar" site="tip"/>
  </sensor>
  <keyframe><key name="home" qpos="5 1 2 1 0 0 0 0.3 -0.5"/></keyframe>
</mujoco>
"""
POSITION = '<position joint="shoulder" kp="60" kv="4"/><position joint="elbow" kp="30" kv="2"/>'
MOTORS = '<motor joint="shoulder"/><motor joint="elbow"/>'
RATES = '<velocity joint="shoulder" kv="8"/><velocity joint="elbow" kv="3"/>'


TENDON = (
    '<tendon><fixed name="t" stiffness="30" damping="1"><joint joint="shoulder" coef="1"/>'
    '<joint joint="elbow" coef="2"/></fixed></tendon>'
)


@pytest.fixture
def arm_file(tmp_path):
    """Function that writes the file of the arm."""

    def write(actuators=MOTORS, integrator='implicitfast', change=('', '')):
        path = tmp_path / 'arm.xml'
        text = ARM.format(actuators=actuators, integrator=integrator)
        path.write_text(text.replace(*change))
        return path

    return write


def load(path, **options):
    """Body in the posture of the file's keyframe."""
    body = load_body(path, **options)
    for posture in body.description.postures.values():
        for name, value in posture.q.items():
            body.joint(name).q = value
        break
    return body


def simulate(body, mode=StateFlag.JOINT_EFFORT, request=None, period=PERIOD, **options):
    """Opened simulation in which the joints are commanded in one mode, at once."""
    hardware = MujocoHardware(body, MujocoParameters(**options), period)
    if request is None:
        names = [joint.name for joint in body.joints]
        request = IORequest(
            inputs=dict.fromkeys(names, MOTION),
            outputs=dict.fromkeys(names, mode),
            devices={device.name for device in body.devices},
            no_delay=set(names),
        )
    hardware.open(request)
    return hardware


def plain(path):
    """MuJoCo's own simulation of the file, from its keyframe."""
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, 0)
    return model, data


def run(hardware, commands, steps=200):
    """Run with constant commands."""
    body = hardware.body
    for _ in range(steps + 1):
        hardware.read()
        for name, values in commands.items():
            body.joint_arrays[name][: len(values)] = values
        hardware.write()


@pytest.mark.parametrize('integrator', ['Euler', 'implicit', 'implicitfast', 'RK4'])
def test_effort_is_exactly_the_joint_torque(arm_file, integrator):
    """The file moves as in MuJoCo itself under the same joint torques, whatever integrates it."""
    path = arm_file(integrator=integrator)
    hardware = simulate(load(path))
    run(hardware, {'u': [3.0, -1.0]})
    model, data = plain(path)
    for _ in range(200):
        data.qfrc_applied[6:] = [3.0, -1.0]
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(hardware.data.qpos, data.qpos, atol=1e-9)
    np.testing.assert_allclose(hardware.body.q, data.qpos[7:], atol=1e-9)
    np.testing.assert_allclose(hardware.data.qfrc_actuator[6:], [3.0, -1.0])


@pytest.mark.parametrize(
    'change',
    [
        ('<sensor>', '<equality><connect body1="lower" anchor="0.3 0 0"/></equality><sensor>'),
        ('<sensor>', f'{TENDON}<sensor>'),
        ('<worldbody>', '<worldbody><body name="hand" mocap="true" pos="1 1 1"/>'),
        ('<compiler ', '<compiler fusestatic="true" '),
        ('armature="0.01"', 'armature="0.01" stiffness="4" springref="0.3"'),
    ],
)
def test_constraints_tendons_and_springs_of_the_file_act(arm_file, change):
    """What the body does not know of acts in the physics as in MuJoCo itself."""
    path = arm_file(change=change)
    hardware = simulate(load(path))
    run(hardware, {'u': [2.0, -1.0]}, 100)
    model, data = plain(path)
    for _ in range(100):
        data.qfrc_applied[6:] = [2.0, -1.0]
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(hardware.data.qpos, data.qpos, atol=1e-9)


def test_effort_stays_within_the_joints_force_range(arm_file):
    """A command beyond the joint's range acts as far as that goes, unless limits are off."""
    for options, effort in (({}, 20.0), ({'effort_limits': False}, 50.0)):
        hardware = simulate(load(arm_file()), **options)
        run(hardware, {'u': [50.0, 0.0]}, 1)
        assert hardware.data.qfrc_actuator[6] == effort


@pytest.mark.parametrize(
    ('actuators', 'mode', 'command', 'target'),
    [
        (POSITION, StateFlag.JOINT_DISPLACEMENT, 'q_target', [0.6, -0.2]),
        (RATES, StateFlag.JOINT_VELOCITY, 'dq_target', [0.5, -0.7]),
    ],
)
def test_servo_is_the_files_own(arm_file, actuators, mode, command, target):
    """Displacements and velocities are what the file's own actuators take."""
    path = arm_file(actuators)
    hardware = simulate(load(path), mode)
    run(hardware, {command: target})
    model, data = plain(path)
    data.ctrl[:] = target
    for _ in range(200):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(hardware.data.qpos, data.qpos, atol=1e-9)


@pytest.mark.parametrize(
    ('mode', 'command'),
    [(StateFlag.JOINT_DISPLACEMENT, 'q_target'), (StateFlag.JOINT_VELOCITY, 'dq_target')],
)
def test_motors_follow_displacements_and_velocities_stiffly(arm_file, mode, command):
    """Without servos of its own the robot gets those of the options."""
    body = load(arm_file())
    start = body.q.copy()
    run(simulate(body, mode, effort_limits=False), {command: [0.5, -0.4]}, 400)
    reached = [0.5, -0.4] if command == 'q_target' else start + 0.8 * np.array([0.5, -0.4])
    np.testing.assert_allclose(body.q, reached, atol=5e-3)


def test_pid_commands_act_in_the_physics(arm_file):
    """Gains that come with the command are those of MuJoCo's position actuator."""
    body = load(arm_file())
    hardware = simulate(body, StateFlag.JOINT_PID)
    body.kp[:], body.kd[:] = [60.0, 30.0], [4.0, 2.0]
    run(hardware, {'q_target': [0.6, -0.2], 'dq_target': [0.0, 0.0], 'u': [0.0, 0.0]})
    model, data = plain(arm_file(POSITION))
    data.ctrl[:] = [0.6, -0.2]
    for _ in range(200):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(body.q, data.qpos[7:], atol=1e-9)


def test_rotors_that_the_body_was_given_count(arm_file):
    """What is added to the rotor inertia of the body is added in the physics."""
    body = load(arm_file())
    body.add_rotor_inertia(1, 0.3)
    model = simulate(body).model
    dofs = [model.joint(name).dofadr[0] for name in body.joint_names]
    np.testing.assert_allclose(model.dof_armature[dofs], [0.01, 0.31])


def test_joint_that_nobody_commands_is_limp(arm_file):
    """The file's own actuators on the robot's joints are off: it swings as without them."""
    hardware = simulate(load(arm_file(POSITION)), request=IORequest())
    run(hardware, {})
    model, data = plain(arm_file())
    for _ in range(200):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(hardware.data.qpos, data.qpos, atol=1e-9)


def test_command_acts_one_tick_late(arm_file):
    """The delay is the loop's, as for every other robot."""
    body = load(arm_file())
    request = make_request(body, inputs=MOTION, no_delay=False)
    hardware = simulate(body, request=request)
    hardware.read()
    body.u[:] = [2.0, 0.0]
    hardware.write()
    hardware.read()
    assert body.u[0] == 0.0
    body.u[:] = [2.0, 0.0]
    hardware.write()
    hardware.read()
    assert body.u[0] == 2.0


def test_actuators_that_are_not_the_robots_keep_acting(arm_file):
    """A thruster of the scene has the control of the keyframe."""
    path = arm_file(
        MOTORS + '<general name="lift" site="nozzle" gear="0 0 1 0 0 0"/>',
        change=('<freejoint/>', '<freejoint/><site name="nozzle"/>'),
    )
    path.write_text(path.read_text().replace('<key name="home"', '<key name="home" ctrl="0 0 30"'))
    hardware = simulate(load(path))
    run(hardware, {}, 1)
    assert hardware.data.qacc[2] == pytest.approx(30.0 - 9.81, rel=1e-6)


@pytest.mark.parametrize(
    ('period', 'option', 'step'),
    [(0.002, 0.0, 0.002), (0.001, 0.0, 0.001), (0.005, 0.0, 0.005 / 3), (0.005, 0.005, 0.005)],
)
def test_physics_step_is_never_longer_than_the_files(arm_file, period, option, step):
    """The period is cut into steps no longer than the file's; an option wins over both."""
    hardware = MujocoHardware(load(arm_file()), MujocoParameters(time_step=option), period)
    assert hardware.model.opt.timestep == pytest.approx(step)


def test_options_of_the_file_stay(arm_file):
    """Gravity, solver settings and limits are the file's unless the options say otherwise."""
    hardware = simulate(load(arm_file()))
    np.testing.assert_allclose(hardware.model.opt.gravity, [0, 0, -9.81])
    assert hardware.model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
    assert hardware.model.joint('elbow').limited[0] == 1
    other = simulate(load(arm_file()), gravity=1.6, joint_limits=False)
    np.testing.assert_allclose(other.model.opt.gravity, [0, 0, -1.6])
    assert other.model.joint('elbow').limited[0] == 0


def test_floor_is_added_where_the_file_has_no_ground(arm_file):
    """A file with a plane keeps it, one without gets a floor that everything falls on."""
    hardware = simulate(load(arm_file()))
    run(hardware, {}, 1000)
    assert hardware.data.body('ball').xpos[2] == pytest.approx(0.1, abs=5e-3)
    own = simulate(
        load(arm_file(change=('<worldbody>', '<worldbody><geom type="plane" size="1 1 1"/>')))
    )
    planes = own.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
    assert planes.sum() == 1
    assert not (simulate(load(arm_file()), floor=False).model.geom_type == 0).any()


def test_contact_pairs_with_a_floor_that_is_added_count(arm_file):
    """A file may name the floor of the scene that it is meant for."""
    pair = '<contact><pair geom1="rod" geom2="floor" friction="1.7 1.7 .1 .1 .1"/></contact>'
    path = arm_file(change=('<actuator>', f'{pair}<actuator>'))
    assert simulate(load(path)).model.npair == 1
    assert simulate(load(path), floor=False).model.npair == 0


def test_things_of_the_scene_start_as_the_keyframe_says(arm_file):
    """At the start and after a reset."""
    hardware = simulate(load(arm_file()))
    np.testing.assert_allclose(hardware.data.body('ball').xpos, [5, 1, 2])
    run(hardware, {}, 50)
    hardware.reset()
    hardware.read()
    np.testing.assert_allclose(hardware.data.body('ball').xpos, [5, 1, 2])
    np.testing.assert_allclose(hardware.body.q, [0.3, -0.5])


def test_objects_of_the_options_collide_with_the_file(arm_file):
    """A box under the arm holds it."""
    thing = ObjectParameters(size=[0.5, 0.5, 0.2], position=[0.4, 0.0, 0.8])
    hardware = simulate(load(arm_file()), objects={'box': thing})
    run(hardware, {}, 500)
    assert hardware.data.ncon > 0
    assert hardware.body.link('lower').p[2] > 0.85


def test_devices_are_the_files_own_sensors(arm_file):
    """IMU, force sensor, range finder and generic devices have what MuJoCo measures."""
    body = load(arm_file())
    hardware = simulate(body)
    run(hardware, {'u': [3.0, -1.0]}, 20)
    body.calc_forward_kinematics()
    model, data = plain(arm_file())
    for _ in range(20):
        data.qfrc_applied[6:] = [3.0, -1.0]
        mujoco.mj_step(model, data)
    before = data.sensor('acc').data.copy(), data.sensor('twist').data.copy()
    mujoco.mj_forward(model, data)
    devices = {device.name: device for device in body.devices}
    np.testing.assert_allclose(devices['tip'].w, data.sensor('gyro').data, atol=1e-9)
    np.testing.assert_allclose(devices['tip'].dv, before[0], atol=1e-9)
    np.testing.assert_allclose(devices['twist'].tau, -before[1], atol=1e-9)
    assert np.abs(devices['twist'].f).max() > 1.0
    np.testing.assert_allclose(devices['attitude'].values, data.sensor('attitude').data, atol=1e-9)
    # The plain file has no floor below.
    height = body.link('lower').p[2]
    assert devices['sonar'].range_data[0] == pytest.approx(height, abs=0.2)


def test_range_finder_that_sees_nothing_is_infinite(arm_file):
    """MuJoCo's -1 is no distance."""
    body = load(arm_file())
    run(simulate(body, floor=False), {}, 1)
    sonar = next(device for device in body.devices if device.name == 'sonar')
    assert sonar.range_data[0] == np.inf


def test_links_between_joints_are_where_the_kinematics_say(arm_file):
    """A link that MuJoCo has no body for has pose and twist, but no acceleration or force."""
    body = load(arm_file())
    names = [link.name for link in body.links]
    assert 'lower/elbow' in names
    flags = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST
    request = IORequest(inputs=dict.fromkeys(names, flags))
    hardware = simulate(body, request=request)
    run(hardware, {}, 100)
    seen = {name: (body.link(name).T.copy(), body.link(name).v.copy()) for name in names}
    body.calc_forward_kinematics(velocity=True)
    for name in names:
        np.testing.assert_allclose(seen[name][0], body.link(name).T, atol=1e-9)
        np.testing.assert_allclose(seen[name][1], body.link(name).v, atol=1e-9)
    with pytest.raises(UnsupportedChannel, match='lower/elbow'):
        hardware.open(IORequest(inputs={'lower/elbow': StateFlag.LINK_ACCELERATION}))
    with pytest.raises(UnsupportedChannel, match='lower/elbow'):
        hardware.open(IORequest(outputs={'lower/elbow': StateFlag.LINK_EXT_WRENCH}))


FLOATER = """
<mujoco model="floater">
  <worldbody>
    <geom name="ground" type="plane" size="5 5 1"/>
    <body name="ball" pos="2 0 1"><freejoint/><geom size="0.1" mass="1"/></body>
    <body name="trunk" pos="0 0 0.1"><freejoint name="float"/>
      <geom type="box" size="0.2 0.2 0.1" mass="3"/>
      <body name="mast" pos="0 0 0.1"><joint name="m" axis="0 1 0" damping="1" stiffness="50"/>
        <geom type="capsule" size="0.02" fromto="0 0 0 0 0 0.3" mass="0.2"/></body>
    </body>
  </worldbody>
  <actuator><motor joint="m"/></actuator>
</mujoco>
"""


@pytest.fixture
def floater_file(tmp_path):
    """File of a floating robot beside a ball, whose joint comes first."""
    path = tmp_path / 'floater.xml'
    path.write_text(FLOATER)
    return path


def test_contacts_and_root_of_a_floating_robot(floater_file):
    """The root's state and the forces of the ground are the robot's, not the ball's."""
    body = load(floater_file)
    flags = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST | StateFlag.LINK_CONTACT_STATE
    hardware = simulate(body, request=IORequest(inputs={'trunk': flags}))
    run(hardware, {}, 500)
    np.testing.assert_allclose(body.root_link.p, hardware.data.body('trunk').xpos, atol=1e-9)
    weight = sum(point.force[2] for point in body.root_link.contact_points)
    assert weight == pytest.approx(3.2 * 9.81, rel=1e-2)


def test_wrench_lifts_the_robot(floater_file):
    """A force on a link acts on that link."""
    body = load(floater_file)
    request = IORequest(
        inputs={'trunk': StateFlag.LINK_POSITION}, outputs={'trunk': StateFlag.LINK_EXT_WRENCH}
    )
    hardware = simulate(body, request=request)
    for _ in range(100):
        hardware.read()
        force = np.array([0.0, 0.0, 3.2 * 9.81 + 32.0])
        body.root_link.add_external_force_at_global_position(force, body.calc_center_of_mass())
        hardware.write()
    assert body.root_link.p[2] > 0.2


def test_pose_of_the_root_can_be_commanded(floater_file):
    """The root follows, as for every other robot."""
    body = load(floater_file)
    hardware = simulate(body, request=IORequest(outputs={'trunk': StateFlag.LINK_POSITION}))
    for _ in range(5):
        hardware.read()
        body.root_link.p = np.array([0.5, 0.0, 1.0])
        hardware.write()
    np.testing.assert_allclose(body.root_link.p, [0.5, 0.0, 1.0], atol=1e-4)


def test_floating_robot_can_be_bolted_down(floater_file):
    """The file's free joint is taken out, and the place is the body's."""
    body = load(floater_file, root=JointType.FIXED)
    body.root_link.p = np.array([0.0, 1.0, 2.0])
    hardware = simulate(body)
    run(hardware, {}, 100)
    np.testing.assert_allclose(hardware.data.body('trunk').xpos, [0, 1, 2], atol=1e-12)


def test_bolted_robot_can_float(arm_file):
    """It gets a free joint, and falls."""
    body = load(arm_file(), root=JointType.FREE)
    request = IORequest(inputs={'base': StateFlag.LINK_POSITION})
    run(simulate(body, request=request), {}, 100)
    assert body.root_link.p[2] < 0.9


def test_robot_without_a_base_can_be_moved(tmp_path):
    """What hangs on the world goes where the world link is put."""
    path = tmp_path / 'pendulum.xml'
    path.write_text(
        '<mujoco><worldbody><body name="bob" pos="0 0 1"><joint name="j" axis="0 1 0"/>'
        '<geom size=".05" pos="0 0 -.5"/></body></worldbody></mujoco>'
    )
    body = load(path)
    body.root_link.p = np.array([1.0, 2.0, 3.0])
    body.root_link.rotation = ([0.0, 0.0, 1.0], 0.5)
    body.joint('j').q = 0.4
    body.calc_forward_kinematics()
    hardware = simulate(body)
    np.testing.assert_allclose(hardware.data.body('bob').xpos, body.link('bob').p, atol=1e-9)
    np.testing.assert_allclose(
        hardware.data.body('bob').xmat.reshape(3, 3), body.link('bob').R, atol=1e-9
    )


def test_collision_list_selects_geoms_of_the_file(floater_file):
    """What is not in the list does not collide."""
    model = simulate(load(floater_file), collision=['-trunk']).model
    assert model.geom_contype[model.body('trunk').geomadr[0]] == 0
    model = simulate(load(floater_file), collision=['trunk']).model
    assert model.geom_contype[model.body('trunk').geomadr[0]]
    assert not model.geom_contype[model.body('mast').geomadr[0]]
    with pytest.raises(HardwareError, match='selects no shape'):
        simulate(load(floater_file), collision=['nose'])


def test_self_collision_is_the_files_business(floater_file):
    """An option that could not take effect is refused."""
    with pytest.raises(HardwareError, match='self_collision'):
        simulate(load(floater_file), self_collision=True)


SCENE = """
<mujoco>
  <option timestep="0.004" gravity="0 0 -3.7"/>
  <worldbody>
    <geom name="table" type="box" size="1 1 0.2" pos="0 0 0.2"/>
    <geom name="sand" type="plane" size="5 5 1"/>
    <body name="cup" pos="0.5 0 0.5"><freejoint/><geom type="cylinder" size="0.04 0.05"/></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def scene(tmp_path):
    """File of a table."""
    path = tmp_path / 'scene.xml'
    path.write_text(SCENE)
    return str(path)


def test_mjcf_robot_in_a_scene(floater_file, scene):
    """The robot alone comes into the scene, and stands on its table."""
    body = load(floater_file)
    body.description.scene = scene
    body.root_link.p = np.array([0.0, 0.0, 0.5])
    request = IORequest(inputs={'trunk': StateFlag.LINK_POSITION}, outputs={'mast': MOTION})
    hardware = simulate(body, request=request)
    names = [hardware.model.body(i).name for i in range(hardware.model.nbody)]
    assert names == ['world', 'cup', 'robot/trunk', 'robot/mast']
    np.testing.assert_allclose(hardware.model.opt.gravity, [0, 0, -3.7])
    run(hardware, {}, 500)
    assert body.root_link.p[2] == pytest.approx(0.5, abs=5e-3)


def test_other_robot_in_a_scene(scene, simple_robot):
    """A robot of another format stands on the table too."""
    body = simple_robot
    body.description.scene = scene
    body.root_link.p = np.array([0.0, 0.0, 0.6])
    request = IORequest(inputs={body.root_link.name: StateFlag.LINK_POSITION})
    hardware = simulate(body, request=request)
    assert hardware.model.opt.timestep == PERIOD
    run(hardware, {}, 1000)
    assert body.root_link.p[2] == pytest.approx(0.5, abs=5e-3)


@pytest.fixture
def simple_robot(tmp_path):
    """Box of URDF."""
    path = tmp_path / 'box.urdf'
    path.write_text(
        '<robot name="box"><link name="box"><inertial><mass value="1"/><inertia ixx=".01" '
        'iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"/></inertial><collision><geometry>'
        '<box size="0.2 0.2 0.2"/></geometry></collision></link></robot>'
    )
    return load_body(path, JointType.FREE)


def test_scene_that_is_missing_is_named(floater_file):
    """The error is the hardware's, and names the file."""
    body = load(floater_file)
    body.description.scene = 'nowhere.xml'
    with pytest.raises(HardwareError, match=r'nowhere.xml'):
        simulate(body)
