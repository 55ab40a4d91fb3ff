"""A robot that nobody has tuned: posture, place, gains, and the configuration made of a model."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pytest

from cnoid_control.body import Body
from cnoid_control.body.balance import balanced_posture
from cnoid_control.body.gains import joint_gains, rotors_needed, seen_inertias
from cnoid_control.body.solids import lowest_points, reach
from cnoid_control.catalog import cached_model
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import FileName, ParameterError
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import RobotParameters
from cnoid_control.runtime.defaults import (
    config_from_model,
    load_run,
    make_robot,
    named_gains,
    named_posture,
    robot_of_model,
)
from cnoid_control.runtime.summary import RunMonitor

LINK = (
    '<link name="{name}"><inertial><origin xyz="{xyz}"/><mass value="{mass}"/>'
    '<inertia ixx="{i}" ixy="0" ixz="0" iyy="{i}" iyz="0" izz="{i}"/></inertial>'
    '<collision><origin xyz="{xyz}"/><geometry><box size="{size}"/></geometry></collision></link>'
)
JOINT = (
    '<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
    '<origin xyz="{xyz}"/><axis xyz="0 1 0"/>'
    '<limit lower="{lower}" upper="{upper}" effort="{effort}" velocity="9"/></joint>'
)


def link(name: str, mass: float, xyz: str, size: str, i: float = 0.01) -> str:
    """A box with a mass."""
    return LINK.format(name=name, mass=mass, xyz=xyz, size=size, i=i)


def joint(name: str, parent: str, child: str, xyz: str, lower=-1.0, upper=1.0, effort=50) -> str:
    """A joint about y."""
    return JOINT.format(
        name=name, parent=parent, child=child, xyz=xyz, lower=lower, upper=upper, effort=effort
    )


def biped(knee: tuple[float, float] = (0.0, 2.0), foot: float = 1e-5) -> str:
    """A body on two legs of thigh, shank and a foot that is as light as feet are."""
    text = link('trunk', 10.0, '0 0 0.2', '0.2 0.3 0.4', 0.2)
    for side, y in (('left', 0.1), ('right', -0.1)):
        text += link(f'{side}_thigh', 1.0, '0 0 -0.15', '0.05 0.05 0.3')
        text += link(f'{side}_shank', 0.5, '0 0 -0.15', '0.05 0.05 0.3', 0.005)
        text += link(f'{side}_foot', 0.1, '0 0 -0.02', '0.2 0.1 0.04', foot)
        text += joint(f'{side}_hip', 'trunk', f'{side}_thigh', f'0 {y} 0')
        text += joint(f'{side}_knee', f'{side}_thigh', f'{side}_shank', '0 0 -0.3', *knee)
        text += joint(f'{side}_ankle', f'{side}_shank', f'{side}_foot', '0 0 -0.3')
    return f'<robot name="biped">{text}</robot>'


def arm() -> str:
    """Two links on a base, the second one much lighter than the first."""
    return (
        '<robot name="reacher">'
        + link('base', 5.0, '0 0 0.1', '0.2 0.2 0.2')
        + link('upper', 3.0, '0.2 0 0', '0.4 0.05 0.05')
        + link('fore', 0.2, '0.1 0 0', '0.2 0.03 0.03', 1e-4)
        + joint('shoulder', 'base', 'upper', '0 0 0.5', effort=80)
        + joint('elbow', 'upper', 'fore', '0.4 0 0', -2.0, -0.5, 5)
        + '</robot>'
    )


@pytest.fixture
def model(tmp_path: Path):
    """Give a function that writes a model into a file."""

    def write(text: str, name: str = 'robot.urdf') -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def lowest(body: Body) -> float:
    """Height of the lowest point [m]."""
    return float(min(point[2] for point in lowest_points(body.links).values()))


def test_floating_robot_starts_on_the_ground(model) -> None:
    """In every posture; without being told where."""
    path = model(biped())
    body = robot_of_model(path)
    assert body.root_link.p[2] == pytest.approx(0.64)
    assert lowest(body) == pytest.approx(0.0, abs=1e-9)
    bent = {'left_hip': -0.4, 'left_knee': 0.8, 'left_ankle': -0.4}
    bent |= {name.replace('left', 'right'): value for name, value in bent.items()}
    body = make_robot(RobotParameters(str(path), posture=bent))
    assert body.root_link.p[2] == pytest.approx(0.04 + 0.6 * np.cos(0.4))
    assert lowest(body) == pytest.approx(0.0, abs=1e-9)
    assert make_robot(RobotParameters(str(path), position=[0, 0, 2])).root_link.p[2] == 2.0


def test_place_of_the_model_is_for_its_zero_posture(model) -> None:
    """It is kept there; bent knees of a group state bring the robot down to the ground."""
    placed = '<cnoid_control><root type="free" xyz="1 2 0.7"/></cnoid_control></robot>'
    path = model(biped().replace('</robot>', placed))
    np.testing.assert_allclose(robot_of_model(path).root_link.p, [1.0, 2.0, 0.7])
    bent = {'hip': -0.4, 'knee': 0.8, 'ankle': -0.4}
    values = ''.join(
        f'<joint name="{side}_{name}" value="{value}"/>'
        for side in ('left', 'right')
        for name, value in bent.items()
    )
    model(
        f'<robot name="r"><group_state name="home" group="g">{values}</group_state></robot>',
        'robot.srdf',
    )
    body = robot_of_model(path)
    np.testing.assert_allclose(body.root_link.p, [1.0, 2.0, 0.04 + 0.6 * np.cos(0.4)], atol=1e-9)
    sunk = biped().replace('</robot>', placed.replace('0.7', '0.5'))
    assert lowest(robot_of_model(model(sunk, 'sunk.urdf'))) == pytest.approx(0.0, abs=1e-9)


def test_fixed_robot_that_would_be_in_the_floor_is_raised(model, caplog) -> None:
    """One that hangs gets out of reach; one that stands on its base just clears it."""
    pendulum = (
        '<robot name="pendulum">'
        + link('post', 1.0, '0 0 0.1', '0.1 0.1 0.1')
        + link('rod', 1.0, '0 0 -0.3', '0.02 0.02 0.6')
        + joint('swing', 'post', 'rod', '0 0 0')
        + '</robot>'
    )
    body = robot_of_model(model(pendulum))
    assert body.is_fixed_root
    body.q[:] = 0.0
    body.calc_forward_kinematics()
    assert 0.0 < lowest(body) < 0.02
    assert f'pendulum is raised to {body.root_link.p[2]:g} m, out of the floor' in caplog.text
    assert robot_of_model(model(arm())).root_link.p[2] == 0.0
    # Where the model puts it does not change where it ends.
    placed = '<cnoid_control><root type="fixed" xyz="0 0 0.35"/></cnoid_control></robot>'
    raised = robot_of_model(model(pendulum.replace('</robot>', placed)))
    assert raised.root_link.p[2] == pytest.approx(body.root_link.p[2])
    # An arm that is below its base, by less and by more than 0.3 of its reach.
    standing = robot_of_model(model(arm().replace('0 0 0.5', '0 0 -0.1')))
    assert standing.root_link.p[2] == pytest.approx(np.ceil(100 * (0.1 + 0.025 + 0.02)) / 100)
    hanging = robot_of_model(model(arm().replace('0 0 0.5', '0 0 -0.3')))
    assert hanging.root_link.p[2] == pytest.approx(np.ceil(100 * reach(hanging.links)) / 100)


def test_zero_is_moved_into_the_range(model) -> None:
    """To the nearest end; a posture by name changes the joints that it names."""
    path = model(arm())
    assert named_posture(robot_of_model(path)) == {'shoulder': 0.0, 'elbow': -0.5}
    body = make_robot(RobotParameters(str(path), posture={'elbow': -1.2}))
    assert named_posture(body) == {'shoulder': 0.0, 'elbow': -1.2}
    body = make_robot(RobotParameters(str(path), posture=[0.3, -1.0]))
    np.testing.assert_array_equal(body.q, [0.3, -1.0])


def test_posture_beyond_the_range_turns_into_it(model) -> None:
    """A whole turn is the same place; else the nearest end is taken."""
    state = (
        '<robot name="r"><group_state name="home" group="g"><joint name="shoulder" value="{}"/>'
        '<joint name="elbow" value="{}"/></group_state></robot>'
    )
    path = str(model(arm()))
    model(state.format(6.5, 5.0), 'robot.srdf')
    np.testing.assert_allclose(robot_of_model(path).q, np.array([6.5, 5.0]) - 2.0 * np.pi)
    model(state.format(2.0, 0.0), 'robot.srdf')
    np.testing.assert_allclose(robot_of_model(path).q, [1.0, -0.5])


def test_a_given_posture_beyond_the_range_is_told(model, caplog) -> None:
    """It is where the robot starts, as asked, with joint, value and range in a warning."""
    robot = RobotParameters(model=FileName(str(model(arm()))))
    for angle in (0.7, -2.3):
        robot.posture = {'elbow': angle}
        body = make_robot(robot)
        assert body.q[1] == angle
        said = f'robot.posture is beyond the limits of joints: elbow {angle} (-2 to -0.5)'
        assert body.description.warnings == [said]
        assert said in caplog.text
    caplog.clear()
    for angle in (-0.5, -2.0, -1.0):
        robot.posture = {'elbow': angle}
        assert make_robot(robot).description.warnings == []
    assert 'beyond' not in caplog.text


def test_states_of_parts_make_one_posture(model) -> None:
    """Where an SRDF file has states of an arm and of a hand, a robot starts in both."""
    state = '<group_state name="{}" group="{}"><joint name="{}" value="{}"/></group_state>'
    parts = [('up', 'a', 'shoulder', 0.4), ('bent', 'b', 'elbow', -0.9), ('out', 'b', 'elbow', -2)]
    text = ''.join(state.format(*part) for part in parts)
    model(f'<robot name="r">{text}</robot>', 'robot.srdf')
    body = robot_of_model(model(arm()))
    np.testing.assert_allclose(body.q, [0.4, -0.9])
    assert list(body.description.postures) == ['up + bent', 'up', 'bent', 'out']


def test_legs_are_moved_under_a_robot_that_would_fall_over(model, caplog) -> None:
    """Knees that cannot be straight; the soles lie flat and the mass is above their middle."""
    body = robot_of_model(model(biped(knee=(0.6, 2.0))))
    assert body.q[body.joint('left_knee').joint_id] >= 0.6
    for side in ('left', 'right'):
        foot = body.link(f'{side}_foot')
        assert foot.R[2, 2] == pytest.approx(1.0, abs=1e-4)
        assert foot.p[2] == pytest.approx(0.04, abs=1e-3)
        assert foot.p[0] == pytest.approx(body.calc_center_of_mass()[0], abs=0.01)
    (said,) = [text for text in body.description.warnings if 'would fall over' in text]
    assert said in caplog.text
    # The change of each joint, from where its range had put it.
    moved = dict(part.rsplit(' ', 1) for part in said.split('moved: ')[1].split(', '))
    knee = body.joint('left_knee')
    if 'left_knee' in moved:
        assert float(moved['left_knee']) == pytest.approx(knee.q - 0.6, abs=0.006)
    ankle = float(moved['left_ankle'])
    assert ankle == pytest.approx(body.joint('left_ankle').q, abs=0.006)
    assert balanced_posture(body) is None
    loop = make_loop(config_from_model(model(biped(knee=(0.6, 2.0)))))
    monitor = RunMonitor(loop)
    assert loop.run(3.0).exit == 'completed'
    assert not monitor.fell


def test_posture_of_the_model_by_its_name(model) -> None:
    """The first of them is where it starts."""
    state = '<group_state name="{}" group="g"><joint name="elbow" value="{}"/></group_state>'
    model(
        f'<robot name="r">{state.format("up", -1.5)}{state.format("home", -0.7)}</robot>',
        'robot.srdf',
    )
    path = str(model(arm()))
    assert robot_of_model(path).q[1] == -0.7
    assert make_robot(RobotParameters(path, posture='up')).q[1] == -1.5
    with pytest.raises(ParameterError, match=r"robot.posture: 'down'.*choose from: home, up"):
        make_robot(RobotParameters(path, posture='down'))


def test_unknown_joint_of_a_posture_is_refused(model) -> None:
    """With the choices."""
    with pytest.raises(ParameterError, match=r'robot.posture.knee: .*shoulder, elbow'):
        make_robot(RobotParameters(str(model(arm())), posture={'knee': 1.0}))


@pytest.mark.parametrize('text', [arm(), biped()])
@pytest.mark.parametrize('time_step', [0.001, 0.005])
def test_no_mode_of_the_robot_is_faster_than_its_gains_allow(text, time_step, model) -> None:
    """The loop with its delay is stable: eigenvalues of the sampled linear system."""
    body = make_robot(RobotParameters(str(model(text))), time_step=time_step)
    gains = joint_gains(body, time_step)
    import pinocchio as pin

    matrix = pin.crba(body.model, body.model.createData(), body.pin_q())
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    if body.is_fixed_root:
        matrix = matrix[6:, 6:]
    n = len(matrix)
    order = body.tree.slots_in_pin_order
    select = np.zeros((n, body.num_joints))
    select[n - body.num_joints + np.arange(body.num_joints), order] = 1.0
    inverse = np.linalg.inv(matrix)
    stiff = inverse @ select @ np.diag(gains.kp) @ select.T * time_step
    damp = inverse @ select @ np.diag(gains.kd) @ select.T * time_step
    # State: q, v and the efforts' accelerations of the period before.
    one, zero = np.eye(n), np.zeros((n, n))
    step = np.block(
        [
            [one, one * time_step, one * time_step],
            [zero, one, one],
            [-stiff, -damp, zero],
        ]
    )
    assert np.abs(np.linalg.eigvals(step)).max() <= 1.0 + 1e-6


def test_gains_give_the_whole_effort_at_a_small_error(model) -> None:
    """Where the period allows it; the model's own gains come first."""
    body = robot_of_model(model(arm()))
    gains = joint_gains(body, 0.001)
    assert gains.kp[0] == pytest.approx(80 / 0.05)
    _, heavy = seen_inertias(body)
    assert gains.kd[0] <= 2.0 * np.sqrt(gains.kp[0] * heavy[0]) + 1e-9
    assert (gains.kp <= gains.kp_limit).all()
    assert joint_gains(body, 0.01).kp[0] < gains.kp[0]
    body.joints[0].description.kp, body.joints[0].description.kd = 33.0, 3.0
    gains = joint_gains(body, 0.001)
    assert (gains.kp[0], gains.kd[0]) == (33.0, 3.0)
    assert named_gains(body, 0.001)['kp']['shoulder'] == 33.0


def test_light_feet_get_rotors_and_it_is_said(model, caplog) -> None:
    """As much as gains need that keep the robot upright; not where they are heavy or told off."""
    path = str(model(biped()))
    plain = make_robot(RobotParameters(path, rotors=False))
    needed = rotors_needed(plain, 0.001)
    ankle = plain.joint('left_ankle').joint_id
    assert needed[ankle] > 0.0
    body = make_robot(RobotParameters(path))
    assert body.joint('left_ankle').description.rotor_inertia == pytest.approx(needed[ankle])
    (said,) = [text for text in body.description.warnings if 'left_ankle' in text]
    assert said in caplog.text
    gains = joint_gains(body, 0.001)
    height = np.linalg.norm(body.joint('left_ankle').p - body.calc_center_of_mass())
    upright = body.mass * 9.80665 * height / 2.0
    assert joint_gains(plain, 0.001).kp[ankle] < upright
    assert gains.kp[ankle] > 1.5 * upright
    assert not rotors_needed(make_robot(RobotParameters(str(model(arm())))), 0.001).any()


@pytest.mark.parametrize('text', [arm(), biped()])
def test_robot_is_held_where_it_starts(text, model) -> None:
    """By `pd`, for 3 s, without a configuration."""
    loop = make_loop(config_from_model(model(text)))
    monitor = RunMonitor(loop)
    body = loop.hardware.body
    posture = body.q.copy()
    assert loop.run(3.0).exit == 'completed'
    assert not monitor.fell
    assert np.abs(body.q - posture).max() < 0.05
    assert np.abs(body.dq).max() < 0.05


def test_config_of_a_model(model) -> None:
    """`pd` on the model; anything may be overridden."""
    config = config_from_model(model(arm()), {'robot.base': 'floating', 'rate': 500.0})
    assert (config.name, config.controller_name, config.time_step) == ('robot', 'pd', 0.002)
    assert not make_robot(config.parameters.robot, config.folder).is_fixed_root
    with pytest.raises(ParameterError, match=r'robot\.bas: unknown option'):
        config_from_model(model(arm()), {'robot.bas': 'fixed'})


def test_a_name_is_that_of_a_config_or_of_a_model(model) -> None:
    """A configuration comes first; what is neither is refused with both choices."""
    assert load_run('pendulum').controller_name == 'pendulum'
    assert load_run('pendulum.urdf').controller_name == 'pd'
    assert load_run('arm').controller_name == 'pd'
    assert load_run(model(arm())).parameters.robot.model.endswith('robot.urdf')
    with pytest.raises(CnoidControlError, match='neither a configuration nor a model'):
        load_run('no_such_robot')
    with pytest.raises(CnoidControlError, match=r'no_such\.yaml'):
        load_run('no_such.yaml')


# Robots of others: base, and height of the root where it stands [m].
KNOWN = {
    'go1': (False, None),
    't1': (False, None),
    'panda': (True, 0.0),
    'ur5': (True, None),
    'go1_urdf': (False, None),
    'solo12': (False, 0.235),
    'talos': (False, 1.019),
    'g1_holosoma_urdf': (False, 0.79),
}


@pytest.mark.parametrize('name', KNOWN)
def test_robots_of_others_hold_their_posture(name: str) -> None:
    """An arm, quadrupeds and humanoids that failed once: held, where they were put."""
    path = cached_model(name)
    if path is None:
        pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    fixed, height = KNOWN[name]
    loop = make_loop(config_from_model(path))
    monitor = RunMonitor(loop)
    body = loop.hardware.body
    posture, place = body.q.copy(), body.root_link.p.copy()
    assert body.is_fixed_root is fixed
    if height is not None:
        assert place[2] == pytest.approx(height, abs=0.02)
    assert loop.run(1.0).exit == 'completed'
    assert not monitor.fell
    assert np.abs(body.q - posture).max() < 0.06
    assert np.linalg.norm(body.root_link.p - place) < 0.03


def test_divergence_names_the_joint_its_gain_and_the_remedy(model) -> None:
    """A run with absurd gains fails with a sentence that helps; a warning came before it."""
    told = io.StringIO()
    gains = {'pd.kp_of': {'elbow': 1e6}, 'pd.kd_of': {'elbow': 1e4}}
    text = arm().replace('effort="5"', 'effort="1e9"')
    loop = make_loop(config_from_model(model(text), gains), os=told)
    outcome = loop.run(2.0)
    assert outcome.exit == 'failed'
    limit = joint_gains(robot_of_model(model(text)), 0.001).kp_limit[1]
    assert re.search(
        r"diverged at 0\.\d+ s: .*joint 'elbow' is the fastest; pd drives it with kp 1e\+06, "
        r"ki 0, kd 1e\+04; .*kp (\S+) and kd \S+ are stable: lower those of 'elbow'",
        outcome.reason,
    )
    assert f'kp {limit:.3g} and' in outcome.reason
    assert 'kp may be unstable' in told.getvalue()
    assert 'elbow 1e+06' in told.getvalue()


def test_links_that_touch_where_it_starts_do_not_collide(model, caplog) -> None:
    """With self-collision, two fingers that overlap stay; others still collide."""
    text = '<robot name="overlap">' + link('base', 5.0, '0 0 0.1', '0.2 0.2 0.2')
    for name, x in (('one', 0.0), ('two', 0.03), ('far', 0.3)):
        text += link(name, 0.5, '0 0 0.1', '0.05 0.05 0.2') + joint(
            f'{name}_joint', 'base', name, f'{x} 0 0.4'
        )
    path = model(text + '</robot>')
    loop = make_loop(config_from_model(path, {'hardware.mujoco.self_collision': True}))
    assert 'one/two' in caplog.text
    body = loop.hardware.body
    posture = body.q.copy()
    assert loop.run(1.0).exit == 'completed'
    assert np.abs(body.q - posture).max() < 1e-3
    # The third one still stops the others.
    goal = {'hardware.mujoco.self_collision': True, 'pd.posture': {'two_joint': 0.99}}
    goal |= {'pd.posture.far_joint': -0.99, 'pd.gravity_compensation': []}
    loop = make_loop(config_from_model(path, goal))
    loop.run(4.0)
    assert loop.hardware.body.q[body.joint('two_joint').joint_id] < 0.9


@pytest.mark.parametrize('key', ['position', 'rpy'])
def test_a_place_has_three_numbers(key, model) -> None:
    """Or none."""
    robot = RobotParameters(str(model(biped())), **{key: [0.0, 1.0]})
    with pytest.raises(ParameterError, match=rf'robot\.{key}: .*it needs 3 values or none'):
        make_robot(robot)


def test_a_given_posture_is_left_as_it_is(model) -> None:
    """Though the robot would fall over in it; it starts at rest, with its targets there."""
    lying = {'left_hip': 0.9, 'right_hip': 0.9}
    body = make_robot(RobotParameters(str(model(biped())), posture=lying))
    assert named_posture(body) == dict.fromkeys(body.joint_names, 0.0) | lying
    np.testing.assert_array_equal(body.q_target, body.q)
    assert lowest(body) == pytest.approx(0.0, abs=1e-9)


KEYFRAME = """
<mujoco>
  <worldbody>
    <body name="box" pos="0 0 0.3"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/>
      <body name="lid" pos="0 0 0.1">
        <joint name="hinge" axis="0 1 0"/><geom size="0.02" mass="0.1"/>
      </body>
    </body>
  </worldbody>
  <keyframe>
    <key name="home" qpos="1 2 0.6 0.6 0 0 0.8 0.25"/>
    <key name="high" qpos="3 4 0.9 1 0 0 0 0.1"/>
    <key name="sunk" qpos="0 0 0.05 1 0 0 0 0.25"/>
  </keyframe>
</mujoco>
"""


def test_a_posture_of_the_model_has_a_place_of_its_own(model) -> None:
    """Position and orientation are kept; another posture starts on the ground, upright."""
    path = str(model(KEYFRAME, 'box.xml'))
    body = robot_of_model(path)
    assert body.q.tolist() == [0.25]
    np.testing.assert_allclose(body.root_link.p, [1.0, 2.0, 0.6])
    np.testing.assert_allclose(body.root_link.R[:, 0], [-0.28, 0.96, 0.0], atol=1e-12)
    # As they are those of the model's own posture, numbers alone say no place.
    for angle in (0.1, 0.25):
        body = make_robot(RobotParameters(path, posture={'hinge': angle}))
        np.testing.assert_allclose(body.root_link.p, [0.0, 0.0, 0.1], atol=1e-9)
        np.testing.assert_allclose(body.root_link.R, np.eye(3), atol=1e-12)


def test_a_posture_by_name_brings_its_place(model) -> None:
    """Also that which would be taken anyway; position and rpy of the configuration win."""
    path = str(model(KEYFRAME, 'box.xml'))
    own = robot_of_model(path)
    body = make_robot(RobotParameters(path, posture='home'))
    assert body.q.tolist() == [0.25]
    np.testing.assert_allclose(body.root_link.p, own.root_link.p)
    np.testing.assert_allclose(body.root_link.R, own.root_link.R)
    body = make_robot(RobotParameters(path, posture='high'))
    assert body.q.tolist() == [0.1]
    np.testing.assert_allclose(body.root_link.p, [3.0, 4.0, 0.9])
    np.testing.assert_allclose(body.root_link.R, np.eye(3), atol=1e-12)
    # One in the floor is lifted out of it.
    body = make_robot(RobotParameters(path, posture='sunk'))
    np.testing.assert_allclose(body.root_link.p, [0.0, 0.0, 0.1], atol=1e-9)
    given = RobotParameters(path, posture='home', position=[5.0, 6.0, 7.0], rpy=[0.0, 0.0, 0.0])
    body = make_robot(given)
    np.testing.assert_allclose(body.root_link.p, [5.0, 6.0, 7.0])
    np.testing.assert_allclose(body.root_link.R, np.eye(3), atol=1e-12)


def test_a_posture_of_a_fixed_robot_by_name_leaves_its_base(model) -> None:
    """An arm's keyframe says nothing of its base."""
    text = KEYFRAME.replace('<freejoint/>', '')
    for number in ('1 2 0.6 0.6 0 0 0.8 ', '3 4 0.9 1 0 0 0 ', '0 0 0.05 1 0 0 0 '):
        text = text.replace(number, '')
    path = str(model(text, 'arm.xml'))
    own, body = robot_of_model(path), make_robot(RobotParameters(path, posture='high'))
    assert own.is_fixed_root
    assert (own.q.tolist(), body.q.tolist()) == ([0.25], [0.1])
    np.testing.assert_allclose(body.root_link.p, own.root_link.p)
