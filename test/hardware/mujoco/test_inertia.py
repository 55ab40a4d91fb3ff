from __future__ import annotations

from collections.abc import Callable

import mujoco
import numpy as np
import pytest
from hardware.conftest import make_description, make_request

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, Box, LinkDescription, Shape
from cnoid_control.body.gains import LEAST_INERTIA
from cnoid_control.body.kinematics import calc_mass_matrix
from cnoid_control.hardware.mujoco.hardware import MujocoHardware

Simulate = Callable[..., MujocoHardware]


def full_mass_matrix(hardware: MujocoHardware) -> np.ndarray:
    """Mass matrix of the joints by MuJoCo, by joint id."""
    matrix = np.zeros((hardware.model.nv, hardware.model.nv))
    for row, unit in zip(matrix, np.eye(hardware.model.nv), strict=True):
        mujoco.mj_mulM(hardware.model, hardware.data, row, unit)
    dofs = [hardware.model.joint(joint.joint_name).dofadr[0] for joint in hardware.body.joints]
    return matrix[np.ix_(dofs, dofs)]


def test_shapes_weigh_nothing(simulate: Simulate) -> None:
    """A link without a mass stays without one whatever its shapes are."""
    description = make_description(JointType.FREE)
    cover = LinkDescription('cover', parent='hand', mass=0.0, inertia=np.zeros((3, 3)))
    cover.shapes = [Shape(Box((0.3, 0.3, 0.3)))]
    description.links.append(cover)
    body = Body(description)
    hardware = simulate(body, make_request(body))
    assert hardware.model.body_mass.sum() == pytest.approx(body.mass)


def test_a_fixed_point_mass_counts(simulate: Simulate) -> None:
    """A fixed link may be a mass without moments of its own."""
    description = make_description(JointType.FIXED)
    weight = LinkDescription('weight', parent='hand', mass=2.0, inertia=np.zeros((3, 3)))
    weight.center_of_mass = np.array([0.0, 0.3, 0.0])
    description.links.append(weight)
    body = Body(description)
    hardware = simulate(body, make_request(body))
    body.calc_forward_kinematics(velocity=True)
    assert full_mass_matrix(hardware) == pytest.approx(calc_mass_matrix(body), rel=1e-9)


def test_links_between_joints_need_no_mass(simulate: Simulate) -> None:
    """A link that only joins two joints is simulated as the model has it."""
    description = make_description(JointType.FIXED)
    slider = description.links[2]
    slider.mass, slider.inertia = 0.0, np.zeros((3, 3))
    body = Body(description)
    hardware = simulate(body, make_request(body))
    body.calc_forward_kinematics(velocity=True)
    assert full_mass_matrix(hardware) == pytest.approx(calc_mass_matrix(body), rel=1e-6)


def test_a_joint_that_moves_nothing_gets_a_rotor(simulate: Simulate) -> None:
    """A massless link at the end is simulated; its joint has the least inertia that there is."""
    description = make_description(JointType.FIXED)
    description.links[-1].mass = 0.0
    description.links[-1].inertia = np.zeros((3, 3))
    body = Body(description)
    hardware = simulate(body, make_request(body))
    dof = hardware.model.joint(description.links[-1].joint_name).dofadr[0]
    least = LEAST_INERTIA[description.links[-1].joint_type.value]
    assert hardware.model.dof_M0[dof] == pytest.approx(least, rel=1e-3)


def test_moments_that_no_solid_has_are_raised(
    simulate: Simulate, caplog: pytest.LogCaptureFixture
) -> None:
    """The largest moment is kept, the others grow until a solid can have them; a line says so."""
    axes = np.linalg.qr(np.arange(9.0).reshape(3, 3) + np.eye(3))[0]
    link = LinkDescription('odd', joint_type=JointType.FREE, mass=1.0)
    link.inertia = axes @ np.diag([0.1, 0.2, 0.5]) @ axes.T
    body = Body(BodyDescription('odd', [link]))
    hardware = simulate(body, make_request(body, {}))
    assert sorted(hardware.model.body_inertia[1]) == pytest.approx([0.2, 0.3, 0.5])
    assert "'odd'" in caplog.text


def test_moments_that_no_solid_has_are_told(simulate: Simulate, caplog) -> None:
    """With link, unit and what is simulated instead, in few digits."""
    description = make_description(JointType.FIXED)
    link = description.links[-1]
    link.inertia = np.diag([1.0 / 3.0, 1.0 / 3.0, 2.0])
    body = Body(description)
    simulate(body, make_request(body))
    words = f'link {link.name!r} has moments of inertia 0.333 0.333 2 kg m^2, which no solid has; '
    assert f'{words}1 1 2 are simulated' in caplog.text
