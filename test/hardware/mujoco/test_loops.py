"""Closed loops in physics, held against the geometry of the linkages."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hardware.conftest import make_request

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import ExtraJointType
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.load import load_body, load_description
from cnoid_control.body.formats.urdf_writer import convert
from cnoid_control.hardware.kinematic import KinematicHardware, KinematicParameters
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.loops import loop_gap
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

# Ground, crank, coupler and rocker [m].
GROUND, CRANK, COUPLER, ROCKER = 0.4, 0.1, 0.35, 0.3

BAR = """
  <link name="{name}">
    <inertial><origin xyz="{half} 0 0"/><mass value="{mass}"/>
      <inertia ixx="{thin}" iyy="{thick}" izz="{thick}" ixy="0" ixz="0" iyz="0"/></inertial>
  </link>
  <joint name="{name}" type="{type}">
    <parent link="{parent}"/><child link="{name}"/><origin xyz="{x} 0 0"/><axis xyz="{axis}"/>
    <limit lower="-10" upper="10" effort="100" velocity="20"/>
  </joint>
"""


def bar(name: str, parent: str, x: float, length: float, kind: str = 'continuous') -> str:
    """Write a slender bar that turns about y, or slides along x."""
    mass = 2.0 * length
    thick = mass * length**2 / 12.0
    return BAR.format(
        name=name, parent=parent, x=x, half=length / 2.0, mass=mass, thick=thick,
        thin=thick / 50.0, type=kind, axis='1 0 0' if kind == 'prismatic' else '0 1 0',
    )  # fmt: skip


def load(folder: Path, bars: str, loop: str) -> Body:
    """Write and load a mechanism with one loop."""
    path = folder / 'linkage.urdf'
    path.write_text(
        f'<robot name="linkage"><link name="base"/>{bars}'
        f'<cnoid_control><root type="fixed" xyz="0 0 1"/>{loop}</cnoid_control></robot>'
    )
    return load_body(path)


def rocker_angle(crank: float) -> tuple[float, float]:
    """Angles of rocker and coupler in the world for an angle of the crank, all about -y [rad].

    The end of the crank and the foot of the rocker are two corners of a triangle whose sides are
    coupler and rocker; the open way of assembling it.
    """
    end = CRANK * np.array([math.cos(crank), math.sin(crank)])
    diagonal = np.array([GROUND, 0.0]) - end
    length = float(np.linalg.norm(diagonal))
    lean = math.acos((COUPLER**2 + length**2 - ROCKER**2) / (2.0 * COUPLER * length))
    coupler = math.atan2(diagonal[1], diagonal[0]) + lean
    joint = end + COUPLER * np.array([math.cos(coupler), math.sin(coupler)])
    return math.atan2(joint[1], joint[0] - GROUND), coupler


def four_bar(folder: Path, kind: str) -> Body:
    """Four-bar linkage, closed between coupler and rocker, with its crank at 1 rad."""
    bars = bar('crank', 'base', 0.0, CRANK) + bar('coupler', 'crank', CRANK, COUPLER)
    bars += bar('rocker', 'base', GROUND, ROCKER)
    loop = (
        f'<loop name="pin" type="{kind}" link1="coupler" xyz1="{COUPLER} 0 0" '
        f'link2="rocker" xyz2="{ROCKER} 0 0" axis="0 1 0"/>'
    )
    body = load(folder, bars, loop)
    rocker, coupler = rocker_angle(1.0)
    body.q[:] = [-1.0, -(coupler - 1.0), -rocker]
    body.initialize_state()
    body.q_target[:] = body.q
    return body


def simulate(body: Body, mode: StateFlag, joint: str, step: float = 0.001) -> MujocoHardware:
    """Open the mechanism with one joint commanded."""
    hardware = MujocoHardware(body, MujocoParameters(floor=False), step)
    hardware.open(make_request(body, {joint: mode}))
    return hardware


@pytest.mark.parametrize('kind', ['hinge', 'ball'])
def test_four_bar_linkage_moves_as_its_geometry_says(tmp_path: Path, kind: str) -> None:
    """A whole turn of the crank: closed within 0.1 mm, the rocker within a milliradian."""
    body = four_bar(tmp_path, kind)
    hardware = simulate(body, StateFlag.JOINT_VELOCITY, 'crank')
    (loop,) = body.description.extra_joints
    gaps, errors = [], []
    for tick in range(2300):
        hardware.read()
        # The crank gets up to its speed within 0.2 s.
        body.dq_target[0] = -3.0 * min(tick / 200.0, 1.0)
        hardware.write()
        body.calc_forward_kinematics()
        gaps.append(loop_gap(body, loop))
        errors.append(-body.joint('rocker').q - rocker_angle(-body.joint('crank').q)[0])
    assert body.joint('crank').q < -1.0 - 2.0 * math.pi
    assert max(gaps) < 1e-4
    turned = (np.array(errors) + math.pi) % (2.0 * math.pi) - math.pi
    assert np.abs(turned).max() < 1e-3


def test_four_bar_linkage_swings_as_one_pendulum(tmp_path: Path) -> None:
    """Let go, it keeps its energy: the constraint does no work."""
    body = four_bar(tmp_path, 'hinge')
    hardware = MujocoHardware(body, MujocoParameters(floor=False), 0.0005)
    hardware.open(make_request(body, {}))

    def energy() -> float:
        body.calc_forward_kinematics(velocity=True)
        body.calc_center_of_mass()
        kinetic = sum(
            0.5 * link.m * float(v @ v)
            + 0.5 * float(link.w @ (link.R @ link.I @ link.R.T @ link.w))
            for link in body.links
            for v in [link.v + np.cross(link.w, link.R @ link.c)]
        )
        return kinetic + body.mass * 9.80665 * float(body.center_of_mass[2])

    first = energy()
    moved = 0.0
    for _ in range(4000):
        hardware.read()
        hardware.write()
        moved = max(moved, abs(body.joint('crank').dq))
    assert moved > 1.0
    # Of the energy that falls and rises, a metre's height of the bars being the measure.
    assert energy() - first == pytest.approx(0.0, abs=0.02 * body.mass * 9.80665 * CRANK)


def test_slider_crank_by_a_piston(tmp_path: Path) -> None:
    """The rod's end runs along the axis of a piston: x = a cos + sqrt(b^2 - a^2 sin^2)."""
    bars = bar('crank', 'base', 0.0, CRANK) + bar('rod', 'crank', CRANK, COUPLER)
    loop = f'<loop type="piston" link1="base" link2="rod" xyz2="{COUPLER} 0 0" axis="1 0 0"/>'
    body = load(tmp_path, bars, loop)
    angle = 0.7
    lean = math.asin(-CRANK * math.sin(angle) / COUPLER)
    body.q[:] = [-angle, -(lean - angle)]
    body.initialize_state()
    hardware = simulate(body, StateFlag.JOINT_VELOCITY, 'crank')
    (extra,) = body.description.extra_joints
    for tick in range(2300):
        hardware.read()
        body.dq_target[0] = -3.0 * min(tick / 200.0, 1.0)
        hardware.write()
        body.calc_forward_kinematics()
        turn = -body.joint('crank').q
        expected = CRANK * math.cos(turn) + math.sqrt(COUPLER**2 - (CRANK * math.sin(turn)) ** 2)
        rod = body.link('rod')
        place = rod.p + rod.R @ [COUPLER, 0.0, 0.0]
        assert place[0] == pytest.approx(expected, abs=5e-4)
        assert loop_gap(body, extra) < 5e-4


def test_fixed_loop_holds_like_a_weld(tmp_path: Path) -> None:
    """Two bars that are held together bear as one; gravity does not part them."""
    bars = bar('left', 'base', 0.0, 0.3, 'prismatic') + bar('right', 'base', 0.3, 0.3)
    loop = '<loop type="fixed" link1="left" xyz1="0.3 0 0" link2="right"/>'
    body = load(tmp_path, bars, loop)
    hardware = simulate(body, StateFlag.JOINT_DISPLACEMENT, 'left')
    for _ in range(1000):
        hardware.read()
        hardware.write()
    assert abs(body.joint('right').q) < 1e-3


CHOREONOID = """
format: ChoreonoidBody
format_version: 2.0
name: bars
links:
  - {name: base, joint_type: fixed, translation: [0, 0, 1]}
  - {name: one, parent: base, joint_type: revolute, joint_id: 0, joint_axis: [0, 1, 0],
     mass: 1, center_of_mass: [0.1, 0, 0], inertia: [0.001, 0, 0, 0, 0.01, 0, 0, 0, 0.01]}
  - {name: two, parent: one, joint_type: revolute, joint_id: 1, joint_axis: [0, 1, 0],
     translation: [0.2, 0, 0], mass: 1, center_of_mass: [0, 0, 0.1],
     inertia: [0.001, 0, 0, 0, 0.01, 0, 0, 0, 0.01]}
  - {name: three, parent: base, joint_type: revolute, joint_id: 2, joint_axis: [0, 1, 0],
     translation: [0, 0, 0.3], mass: 1, center_of_mass: [0.1, 0, 0],
     inertia: [0.001, 0, 0, 0, 0.01, 0, 0, 0, 0.01]}
extra_joints:
  - {link1_name: two, link2_name: three, joint_type: ball,
     translation_in_link1: [0, 0, 0.3], translation_in_link2: [0.2, 0, 0]}
"""


def test_extra_joint_of_a_body_file_is_closed(tmp_path: Path) -> None:
    """A parallelogram of Choreonoid's format: what it carries stays parallel."""
    path = tmp_path / 'bars.body'
    path.write_text(CHOREONOID)
    body = load_body(path)
    hardware = simulate(body, StateFlag.JOINT_DISPLACEMENT, 'one')
    for tick in range(1500):
        hardware.read()
        body.q_target[0] = 0.5 * math.sin(0.002 * tick)
        hardware.write()
        q = body.q
        assert q[2] == pytest.approx(q[0], abs=2e-3)
        assert q[1] == pytest.approx(-q[0], abs=2e-3)
    body.calc_forward_kinematics()
    assert loop_gap(body, body.description.extra_joints[0]) < 1e-3


def test_open_loop_is_told_and_closed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A posture that leaves the loop open is told with its gap; physics closes it."""
    body = four_bar(tmp_path, 'ball')
    body.q[2] += 0.1
    body.initialize_state()
    with caplog.at_level(logging.WARNING):
        hardware = simulate(body, StateFlag.JOINT_DISPLACEMENT, 'crank')
    assert "the loop 'pin' between coupler and rocker is open by 0.0299" in caplog.text
    for _ in range(500):
        hardware.read()
        hardware.write()
    body.calc_forward_kinematics()
    assert loop_gap(body, body.description.extra_joints[0]) < 1e-3


def test_ideal_robot_says_that_it_closes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """What the kinematic hardware cannot do is told."""
    with caplog.at_level(logging.WARNING):
        KinematicHardware(four_bar(tmp_path, 'ball'), KinematicParameters(), 0.001)
    assert 'the loops of linkage are not closed' in caplog.text


@pytest.mark.parametrize(
    ('loop', 'words'),
    [
        ('<loop link1="base" link2="nothing"/>', 'nothing'),
        ('<loop type="screw" link1="base" link2="crank"/>', 'screw.*fixed.*hinge.*ball.*piston'),
        ('<loop link1="base" link2="crank" axis="0 0 0"/>', 'axis.*not zero'),
    ],
)
def test_bad_loop_is_refused(tmp_path: Path, loop: str, words: str) -> None:
    """The file, the element and the choices are named."""
    with pytest.raises(ModelError, match=words):
        load(tmp_path, bar('crank', 'base', 0.0, CRANK), loop)


def test_loop_survives_as_urdf(tmp_path: Path) -> None:
    """A loop that is written is read again; a track is commanded by velocity alone."""
    source = tmp_path / 'bars.body'
    source.write_text(
        CHOREONOID.replace(
            'extra_joints:',
            '  - {name: belt, parent: base, joint_type: pseudo_continuous_track, joint_id: 3,\n'
            '     joint_axis: [0, 1, 0]}\nextra_joints:',
        )
    )
    target = tmp_path / 'bars.urdf'
    convert(source, target)
    (loop,) = load_description(target).extra_joints
    assert (loop.kind, loop.links) == (ExtraJointType.BALL, ('two', 'three'))
    np.testing.assert_allclose(loop.translations, [[0.0, 0.0, 0.3], [0.2, 0.0, 0.0]])
    belt = load_body(target).link('belt')
    assert (belt.joint_type, belt.joint_id) == (JointType.PSEUDO_CONTINUOUS_TRACK, 3)
    tag = ElementTree.parse(target).find("ros2_control/joint[@name='belt']")
    assert tag is not None
    assert [entry.get('name') for entry in tag.findall('command_interface')] == ['velocity']
