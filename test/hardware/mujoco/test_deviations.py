"""Physics that differs from the robot's model, which controllers go on seeing."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np
import pytest

from cnoid_control import SimpleController, Simulation, StateFlag
from cnoid_control.body.solids import lowest_points
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.mujoco.deviations import ModelSnapshot, apply_deviations
from cnoid_control.hardware.mujoco.model import build_model
from cnoid_control.hardware.mujoco.parameters import DeviationParameters, MujocoParameters
from cnoid_control.runtime.config import RobotParameters
from cnoid_control.runtime.defaults import make_robot

KEY = 'hardware.mujoco.deviations'
# Two links with all there is to an inertia, as files have them.
TWO_LINKS = """
<mujoco>
  <compiler angle="radian"/>
  <worldbody>
    <geom name="ground" type="plane" size="0 0 1" friction="0.9 0.005 0.0001"/>
    <body name="upper" pos="0 0 1">
      <inertial pos="{com}" mass="{mass}" diaginertia="{inertia}"/>
      <joint name="shoulder" axis="0 1 0" damping="{damping}" armature="0.01"/>
      <geom name="bar" type="capsule" fromto="0 0 0 0.3 0 0" size="0.02" friction="{friction}"/>
      <body name="lower" pos="0.3 0 0">
        <inertial pos="0.1 0 0" mass="0.5" diaginertia="0.002 0.003 0.003"/>
        <joint name="elbow" axis="0 1 0"/>
        <geom type="sphere" size="0.03"/>
      </body>
    </body>
  </worldbody>
</mujoco>
"""
NOMINAL = {
    'com': '0.1 0 0.02',
    'mass': '1.5',
    'inertia': '0.01 0.02 0.03',
    'damping': '0.1',
    'friction': '0.5 0.005 0.0001',
}


def mjcf_robot(folder: Any, **changes: str) -> Any:
    """The robot of two links from a file of its own."""
    path = folder / f'two_{len(list(folder.iterdir()))}.xml'
    path.write_text(TWO_LINKS.format(**{**NOMINAL, **changes}))
    return make_robot(RobotParameters(model=str(path)))


# Where versions of MuJoCo do not move these boxes, they are moved here, and round otherwise.
BY_ROUNDING = {'bvh_aabb': 1e-12}


def differing(one: mujoco.MjModel, other: mujoco.MjModel) -> list[str]:
    """Arrays and options that are not the same: to the bit, but boxes that only sort contacts."""
    options = ['opt'] if str(one.opt) != str(other.opt) else []
    return options + [
        name
        for name in dir(one)
        if not name.startswith('_')
        and isinstance(getattr(one, name), np.ndarray)
        and not np.allclose(
            getattr(one, name), getattr(other, name), rtol=0.0, atol=BY_ROUNDING.get(name, 0.0)
        )
    ]


@pytest.mark.parametrize(
    ('deviations', 'changes'),
    [
        ({'mass': {'upper': 2.0}}, {'mass': '3.0', 'inertia': '0.02 0.04 0.06'}),
        ({'inertia': {'upper': 0.5}}, {'inertia': '0.005 0.01 0.015'}),
        ({'com': {'upper': [0.0, 0.25, 0.0]}}, {'com': '0.1 0.25 0.02'}),
        ({'damping': {'shoulder': 0.75}}, {'damping': '0.75'}),
        (
            {'mass': {'upper': 0.5}, 'com': {'upper': [0.0, 0.0, 0.5]}},
            {'mass': '0.75', 'inertia': '0.005 0.01 0.015', 'com': '0.1 0 0.52'},
        ),
    ],
)
def test_the_same_as_compiled_from_a_changed_file(deviations, changes, tmp_path):
    """A changed model equals, to the bit, one that is compiled from a file with the values."""
    options = MujocoParameters()
    body = mjcf_robot(tmp_path)
    changed = build_model(body, options, 0.001)
    given = DeviationParameters(**deviations)
    apply_deviations(changed, mujoco.MjData(changed.model), given)
    compiled = build_model(mjcf_robot(tmp_path, **changes), options, 0.001)
    assert differing(changed.model, compiled.model) == []
    for name in ('meaninertia', 'meanmass'):
        assert getattr(changed.model.stat, name) == getattr(compiled.model.stat, name)


def test_masses_of_a_urdf_are_those_of_a_changed_description():
    """What MuJoCo derives from masses is what it derives when it compiles them."""
    options, robot = MujocoParameters(), RobotParameters(model='sr1')
    body = make_robot(robot)
    changed = build_model(body, options, 0.001)
    offset = np.array([0.01, -0.02, 0.03])
    given = DeviationParameters(mass={'CHEST': 1.3}, com={'WAIST': offset.tolist()})
    apply_deviations(changed, mujoco.MjData(changed.model), given)
    other = make_robot(robot)
    chest, waist = other.link('CHEST').description, other.link('WAIST').description
    chest.mass *= 1.3
    chest.inertia = np.array(chest.inertia) * 1.3
    waist.center_of_mass = np.array(waist.center_of_mass) + offset
    compiled = build_model(other, options, 0.001)
    for name in ('body_mass', 'body_ipos', 'dof_M0', 'body_invweight0', 'dof_invweight0'):
        found, wanted = getattr(changed.model, name), getattr(compiled.model, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12, err_msg=name)
    assert body.link('CHEST').description.mass == pytest.approx(chest.mass / 1.3)


EVERYTHING = {
    'friction': 0.3,
    'link_friction': {'LLEG_ANKLE_R': 0.7},
    'mass': {'CHEST': 1.2, 'WAIST': 0.9},
    'inertia': {'CHEST': 1.1},
    'com': {'CHEST': [0.01, 0.02, 0.03]},
    'strength': {'LLEG_KNEE': 0.9},
    'kp': {'LLEG_KNEE': 0.9},
    'kd': {'LLEG_KNEE': 0.9},
    'damping': {'LLEG_KNEE': 0.5},
    'armature': {'LLEG_KNEE': 0.1},
    'frictionloss': {'LLEG_KNEE': 0.2},
    'posture': {'LLEG_KNEE': 0.01},
    'position': [0.1, 0.0, 0.0],
    'rpy': [0.01, 0.0, 0.0],
}


def test_a_snapshot_restores_everything():
    """After a run with every deviation the model is, to the bit, what was compiled."""
    simulation = Simulation('sr1_pd', record=False)
    options = simulation.config.hardware_parameters
    fresh = build_model(simulation.robot, options, 0.001).model
    mapping = simulation.hardware._mapping
    snapshot = ModelSnapshot(mapping.model)
    simulation.run(0.02)
    given = DeviationParameters(**EVERYTHING)
    apply_deviations(mapping, mujoco.MjData(mapping.model), given)
    mapping.model.opt.gravity[2] = 0.0
    assert len(differing(mapping.model, fresh)) > 10
    snapshot.restore()
    assert differing(mapping.model, fresh) == []
    assert str(mapping.model.stat) == str(fresh.stat)


class Swing(SimpleController):
    """Open loop: the torque is a function of the tick alone, or of one `late` ticks ago."""

    factor, late = 1.0, 0

    def initialize(self, io: Any) -> bool:
        """Command torques."""
        self.body, self.tick = io.body, 0
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_TORQUE
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Command."""
        when = max(0, self.tick - self.late)
        self.body.u[:] = self.factor * np.sin(0.05 * when + 0.3)
        self.tick += 1
        return True


class Half(Swing):
    """The same with half the torque."""

    factor = 0.5


class Late(Swing):
    """The same, five ticks later."""

    late = 5


def motion(controller: Any = Swing, **changes: Any) -> np.ndarray:
    """Displacements and velocities of a pendulum."""
    named = {f'hardware.mujoco.{key}': value for key, value in changes.items()}
    with Simulation('pendulum', controller, changes=named) as simulation:
        simulation.run(0.4)
        return np.hstack([simulation.recorded.q, simulation.recorded.dq])


def test_a_weak_actuator_gives_its_share():
    """With half its strength it does what half the command does."""
    (joint,) = Simulation('pendulum').robot.joint_names
    weak = motion(deviations={'strength': {joint: 0.5}})
    np.testing.assert_array_equal(weak, motion(Half))
    assert np.abs(weak - motion()).max() > 1e-3


class Pid(SimpleController):
    """Gains of the actuator's own, which it may multiply."""

    factor = 1.0

    def initialize(self, io: Any) -> bool:
        """Command displacement, velocity, effort and gains."""
        self.body = io.body
        for joint in io.body.joints:
            joint.actuation_mode = StateFlag.JOINT_PID
            io.enable_io(joint)
        return True

    def control(self) -> bool:
        """Hold the joint elsewhere."""
        self.body.q_target[:] = 0.5
        self.body.joint_arrays['kp'][:] = 40.0 * self.factor
        self.body.joint_arrays['kd'][:] = 4.0 * self.factor
        return True


class Doubled(Pid):
    """The same with twice the gains."""

    factor = 2.0


def test_gains_of_actuators_are_multiplied():
    """Factors on the gains are what larger commanded gains are."""
    (joint,) = Simulation('pendulum').robot.joint_names
    factors = {'kp': {joint: 2.0}, 'kd': {joint: 2.0}}
    np.testing.assert_array_equal(motion(Pid, deviations=factors), motion(Doubled))
    assert np.abs(motion(Pid) - motion(Doubled)).max() > 1e-3


def test_commands_are_late_by_the_delay():
    """A delay of five ticks is what commands are that were computed five ticks before."""
    np.testing.assert_array_equal(motion(command_delay=0.005), motion(Late))
    assert np.abs(motion() - motion(Late)).max() > 1e-3


def test_a_planned_push_is_one_by_hand():
    """At its time it begins, to the bit; a reset plans it anew, and nothing is left of it."""
    push = {'link': 'WAIST', 'force': [400.0, 100.0, 0.0], 'time': 0.1, 'duration': 0.05}
    planned = Simulation('sr1_pd', changes={'hardware.mujoco.pushes': {'one': push}})
    planned.run(0.3)
    by_hand = Simulation('sr1_pd')
    by_hand.run(0.101)
    by_hand.push('WAIST', push['force'], push['duration'])
    by_hand.run(0.199)
    wanted = by_hand.recorded.rows
    np.testing.assert_array_equal(planned.recorded.rows, wanted)
    assert not planned.hardware.data.qfrc_applied.any()
    planned.reset()
    planned.run(0.3)
    np.testing.assert_array_equal(planned.recorded.rows, wanted)


@pytest.mark.parametrize(('friction', 'moves'), [(0.4, True), (0.6, False)])
@pytest.mark.parametrize('kind', ['friction', 'link_friction', 'friction_scale'])
def test_friction_holds_what_it_can(friction, moves, kind):
    """A push of half the weight moves a block where the friction is below 0.5 alone."""
    first = Simulation('block', record=False)
    link = first.robot.root_link.name
    value: Any = friction
    if kind == 'link_friction':
        value = {link: friction}
    elif kind == 'friction_scale':
        own = first.hardware.model.geom_friction[:, 0].max()
        value = friction / own
    force = 0.5 * first.robot.mass * 9.80665
    push = {'link': link, 'force': [force, 0.0, 0.0], 'time': 0.3, 'duration': 0.3}
    changes = {f'{KEY}.{kind}': value, 'hardware.mujoco.pushes': {'one': push}}
    with Simulation(
        'block', changes={**changes, 'robot.position': [0.0, 0.0, 0.05]}
    ) as simulation:
        simulation.run(0.6)
        way = np.ptp(simulation.recorded.root_position[300:, 0])
    assert (way > 0.01) == moves


def test_a_robot_that_starts_elsewhere_stands_on_the_ground():
    """Posture and place differ; what controllers are told to hold does not."""
    nominal = Simulation('sr1_pd', record=False)
    given = {'posture': {'LLEG_KNEE': 0.3}, 'position': [0.5, -0.2, 0.0], 'rpy': [0.0, 0.0, 0.4]}
    moved = Simulation('sr1_pd', changes={KEY: given}, record=False)
    knee = nominal.robot.joint('LLEG_KNEE').joint_id
    assert moved.robot.q[knee] - nominal.robot.q[knee] == pytest.approx(0.3)
    np.testing.assert_array_equal(moved.robot.start_posture, nominal.robot.start_posture)
    np.testing.assert_allclose(
        moved.robot.root_link.p[:2] - nominal.robot.root_link.p[:2], [0.5, -0.2]
    )
    heights = [
        min(point[2] for point in lowest_points(one.robot.links).values())
        for one in (nominal, moved)
    ]
    assert heights[0] == pytest.approx(heights[1], abs=1e-9)


@pytest.mark.parametrize(
    ('changes', 'text'),
    [
        ({f'{KEY}.mass': {'NOSE': 1.1}}, "mass: unknown 'NOSE'; choose from: WAIST"),
        ({f'{KEY}.strength': {'NOSE': 1.1}}, "strength: unknown 'NOSE'"),
        ({f'{KEY}.com': {'CHEST': [0.1]}}, '3 values'),
        ({f'{KEY}.mass': {'CHEST': -1.0}}, 'must lie in'),
        ({f'{KEY}.posture': {'NOSE': 1.0}}, "posture: unknown 'NOSE'"),
        ({f'{KEY}.rpy': [0.1]}, '3 were expected'),
        ({'hardware.mujoco.pushes': {'a': {'link': 'NOSE', 'force': [1.0], 'time': 0.0}}},
         "pushes.a.link: unknown 'NOSE'"),
        ({'hardware.mujoco.pushes': {'a': {'link': 'WAIST', 'force': [1.0], 'time': 0.0}}},
         '3 values each'),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_refused(changes, text):
    """Unknown links and joints and wrong sizes are named."""
    with pytest.raises(CnoidControlError, match=text.replace('(', '\\(')):
        Simulation('sr1_pd', changes=changes)


def test_not_in_a_shared_world():
    """There it would change what others stand on."""
    changed = {'config': 'sr1_pd', 'position': [1.0, 0.0]}
    simulation = Simulation(robots={'a': changed})
    parameters = replace(
        simulation.robots['a'].config.hardware_parameters,
        deviations=DeviationParameters(friction=0.5),
    )
    from cnoid_control.hardware.mujoco.world import MujocoWorld

    body = make_robot(RobotParameters(model='sr1'))
    with pytest.raises(CnoidControlError, match='alone in its world'):
        MujocoWorld({'a': (body, parameters)}, MujocoParameters(), 0.001)


def test_the_centre_of_mass_of_a_single_body(tmp_path):
    """MuJoCo relies on it being the origin, unless it is told that it moves."""
    path = tmp_path / 'ball.xml'
    path.write_text(
        '<mujoco><worldbody><body name="ball" pos="0 0 1"><freejoint/>'
        '<geom size="0.1"/></body></worldbody></mujoco>'
    )
    body = make_robot(RobotParameters(model=str(path)))
    given = DeviationParameters(com={'ball': [0.01, 0.0, 0.0]})
    mapping = build_model(body, MujocoParameters(), 0.001)
    with pytest.raises(CnoidControlError, match=r'com\.ball'):
        apply_deviations(mapping, mujoco.MjData(mapping.model), given)
    mapping = build_model(body, MujocoParameters(deviations=given), 0.001)
    if mapping.model.body_simple[1]:
        pytest.skip('this version of MuJoCo cannot be told')
    data = mujoco.MjData(mapping.model)
    apply_deviations(mapping, data, given)
    mujoco.mj_forward(mapping.model, data)
    # It turns about its centre of mass: a force at the origin has that moment.
    inertia, mass = mapping.model.body_inertia[1, 1], mapping.model.body_mass[1]
    dense = np.zeros((6, 6))
    mujoco.mj_fullM(mapping.model, data, dense)
    assert dense[2, 4] == pytest.approx(-mass * 0.01)
    assert dense[4, 4] == pytest.approx(inertia + mass * 0.01**2)
