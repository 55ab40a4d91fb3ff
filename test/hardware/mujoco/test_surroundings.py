"""What a robot in MuJoCo touches, and the things around it."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest

from cnoid_control.simulation import Simulation


def forces_by_mujoco(model, data):
    """Force on each MuJoCo body by contacts, world axes, by a step on a copy of everything."""
    copy = mujoco.MjData(model)
    mujoco.mj_copyData(copy, model, data)
    mujoco.mj_forward(model, copy)
    total = np.zeros((model.nbody, 3))
    force = np.zeros(6)
    for i in range(copy.ncon):
        contact = copy.contact[i]
        mujoco.mj_contactForce(model, copy, i, force)
        in_world = contact.frame.reshape(3, 3).T @ force[:3]
        total[model.geom_bodyid[contact.geom2]] += in_world
        total[model.geom_bodyid[contact.geom1]] -= in_world
    return total


@pytest.mark.parametrize('config', ['sr1_pd', 'trotter_walk'])
def test_contact_forces_are_those_of_mujoco(config):
    """By link, and at the points where MuJoCo has the contacts."""
    with Simulation(config) as sim:
        sim.run(0.4)
        hardware = sim.hardware
        rows = hardware.contact_forces()
        wanted = forces_by_mujoco(hardware.model, hardware.data)
        assert len(rows) >= 3
        for index, link in enumerate(sim.robot.links):
            body = mujoco.mj_name2id(hardware.model, mujoco.mjtObj.mjOBJ_BODY, link.name)
            mine = rows[rows[:, 0] == index, 4:7].sum(axis=0)
            np.testing.assert_allclose(mine, wanted[body], atol=1e-6)
        points = {tuple(place) for place in hardware.data.contact.pos.round(6).tolist()}
        assert {tuple(place) for place in rows[:, 1:4].round(6).tolist()} <= points


def test_looking_changes_nothing():
    """A run with a look in every tick ends in the same state, to the last bit."""
    ends = []
    for looks in (False, True):
        with Simulation('sr1_pd') as sim:
            for _ in range(60):
                sim.step()
                if looks:
                    sim.hardware.contact_forces()
                    sim.hardware.things()
            ends.append(np.concatenate([sim.hardware.data.qpos, sim.hardware.data.qvel]))
    np.testing.assert_array_equal(*ends)


def test_a_robot_in_the_air_touches_nothing():
    """There are no rows, in the same shape."""
    with Simulation('sr1_pd', changes={'robot.position': [0.0, 0.0, 2.0]}) as sim:
        sim.step()
        assert sim.hardware.contact_forces().shape == (0, 7)


def test_things_are_where_mujoco_has_them():
    """Position and quaternion x y z w of what moves and is no robot."""
    with Simulation('conveyor') as sim:
        sim.run(0.2)
        things = sim.hardware.things()
        assert things
        data = sim.hardware.data
        for name, pose in things.items():
            body = data.body(name)
            np.testing.assert_allclose(pose[:3], body.xpos)
            np.testing.assert_allclose(np.roll(pose[3:], 1), body.xquat)
