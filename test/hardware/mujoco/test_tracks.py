"""Tracks and conveyors in physics, held against their kinematics."""

from __future__ import annotations

import math
from collections.abc import Callable

import mujoco
import numpy as np
import pinocchio as pin
import pytest
from hardware.conftest import make_request

from cnoid_control.body import Body, JointType, StateFlag
from cnoid_control.body.description import (
    BodyDescription,
    Box,
    LinkDescription,
    Material,
    Shape,
)
from cnoid_control.hardware.exceptions import UnsupportedChannel
from cnoid_control.hardware.mujoco.hardware import MujocoHardware
from cnoid_control.hardware.mujoco.parameters import ObjectParameters
from cnoid_control.hardware.mujoco.renderer import SEEN_GROUPS, RayCaster

Simulate = Callable[..., MujocoHardware]
LEFT = np.array([0.0, 1.0, 0.0])
READ = StateFlag.JOINT_PID
# Half the distance of the tracks, half their length, half their width [m].
SIDE, HALF, WIDTH = 0.2, 0.25, 0.01
SLOPE = math.radians(25.0)


def make_vehicle(ids: bool = True, friction: float = 1.0) -> Body:
    """Vehicle on two tracks, one with its axis to the right."""
    inertia = np.diag([0.1, 0.2, 0.25])

    def track(name: str, side: float, axis: np.ndarray, joint_id: int) -> LinkDescription:
        return LinkDescription(
            name,
            parent='chassis',
            joint_type=JointType.PSEUDO_CONTINUOUS_TRACK,
            joint_id=joint_id if ids else -1,
            joint_axis=axis,
            translation=np.array([0.0, side, 0.0]),
            mass=1.0,
            inertia=0.01 * np.eye(3),
            material='rubber',
            shapes=[Shape(Box((2 * HALF, 2 * WIDTH, 0.1)))],
        )

    chassis = LinkDescription(
        'chassis', joint_type=JointType.FREE, mass=8.0, inertia=inertia,
        translation=np.array([0.0, 0.0, 0.05]),
    )  # fmt: skip
    links = [chassis, track('left', SIDE, LEFT, 0), track('right', -SIDE, -2.0 * LEFT, 1)]
    materials = {'rubber': Material(friction=friction)}
    return Body(BodyDescription('vehicle', links, materials=materials))


def drive(hardware: MujocoHardware, left: float, right: float, seconds: float) -> None:
    """Let the tracks run [m/s]; the right one's axis points to the other side."""
    hardware.body.link('left').dq_target = left
    hardware.body.link('right').dq_target = -right
    for _ in range(round(seconds / hardware.time_step)):
        hardware.read()
        hardware.write()


def put_on_slope(body: Body, angle: float, heading: float) -> np.ndarray:
    """Put the vehicle on a slope about y, turned by a heading; returns the slope's axes."""
    c, s = math.cos(angle), math.sin(angle)
    tilt = np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])
    turn = np.array(
        [
            [math.cos(heading), -math.sin(heading), 0.0],
            [math.sin(heading), math.cos(heading), 0.0],
            [0.0, 0.0, 1.0],
        ]
    )
    body.root_link.R = tilt @ turn
    body.root_link.p = tilt @ np.array([0.0, 0.0, 0.051])
    body.initialize_state()
    return tilt


def slope(angle: float) -> dict[str, ObjectParameters]:
    """Make a plate whose top runs through the origin, tilted about y."""
    c, s = math.cos(angle), math.sin(angle)
    middle = [-0.05 * s, 0.0, -0.05 * c]
    plate = ObjectParameters(size=[8.0, 8.0, 0.1], position=middle, rpy=[0.0, angle, 0.0])
    return {'slope': plate}


@pytest.mark.parametrize('heading', [0.0, math.pi / 2, math.pi, 0.8])
@pytest.mark.parametrize('angle', [0.0, SLOPE])
def test_vehicle_goes_at_the_speed_of_its_tracks(
    simulate: Simulate, angle: float, heading: float
) -> None:
    """On the level and up, down and across a slope it goes ahead at v within two percent."""
    body = make_vehicle()
    tilt = put_on_slope(body, angle, heading)
    request = make_request(body, StateFlag.JOINT_VELOCITY, READ)
    hardware = simulate(body, request, 0.002, floor=False, objects=slope(angle))
    drive(hardware, 0.4, 0.4, 0.5)
    start = body.root_link.p.copy()
    drive(hardware, 0.4, 0.4, 2.0)
    way = tilt.T @ (body.root_link.p - start)
    ahead = np.array([math.cos(heading), math.sin(heading), 0.0])
    assert way @ ahead == pytest.approx(0.8, rel=0.02)
    np.testing.assert_allclose(way - (way @ ahead) * ahead, 0.0, atol=0.02)
    assert body.link('left').q == pytest.approx(1.0, abs=2e-3)
    assert body.link('right').dq == -0.4


def turning_rate(speed: float) -> float:
    """Rate at which tracks that run against each other turn the vehicle, by Coulomb's law.

    Where the vehicle stands on the corners of its tracks each corner slips by the difference of
    its own motion and that of the surface; all press alike. The torques of friction add to zero.
    """
    corners = [(x, y) for x in (-HALF, HALF) for y in (SIDE - WIDTH, SIDE + WIDTH)]

    def torque(rate: float) -> float:
        total = 0.0
        for x, y in corners:
            slip = np.array([speed - rate * y, rate * x])
            force = slip / np.linalg.norm(slip)
            total += y * force[0] - x * force[1]
        return total

    low, high = 0.0, speed / SIDE
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if torque(middle) > 0.0 else (low, middle)
    return low


def test_opposite_tracks_turn_on_the_spot(simulate: Simulate) -> None:
    """The vehicle turns about its middle at the rate that the friction of its corners allows."""
    body = make_vehicle()
    request = make_request(body, StateFlag.JOINT_VELOCITY, READ)
    hardware = simulate(body, request, 0.002)
    drive(hardware, -0.3, 0.3, 1.0)
    rates = []
    for _ in range(500):
        drive(hardware, -0.3, 0.3, 0.002)
        rates.append(body.root_link.w[2])
    assert np.mean(rates) == pytest.approx(turning_rate(0.3), rel=0.05)
    np.testing.assert_allclose(body.root_link.p[:2], 0.0, atol=5e-3)


def test_force_on_the_tracks_carries_the_weight_up_the_slope(simulate: Simulate) -> None:
    """Uphill at constant speed the tracks are pushed by m g sin(angle), half each."""
    body = make_vehicle()
    put_on_slope(body, SLOPE, math.pi)
    request = make_request(body, StateFlag.JOINT_VELOCITY, READ)
    hardware = simulate(body, request, 0.002, floor=False, objects=slope(SLOPE))
    drive(hardware, 0.3, 0.3, 1.0)
    efforts = []
    for _ in range(200):
        drive(hardware, 0.3, 0.3, 0.002)
        efforts.append([body.link('left').u, -body.link('right').u])
    weight = 10.0 * 9.80665 * math.sin(SLOPE)
    np.testing.assert_allclose(np.mean(efforts, axis=0), weight / 2.0, rtol=0.02)


def test_slippery_track_gets_no_further(simulate: Simulate) -> None:
    """On a slope that is too steep for the friction the vehicle slides down."""
    body = make_vehicle(friction=0.3)
    tilt = put_on_slope(body, SLOPE, math.pi)
    request = make_request(body, StateFlag.JOINT_VELOCITY, READ)
    hardware = simulate(body, request, 0.002, floor=False, objects=slope(SLOPE))
    drive(hardware, 0.3, 0.3, 1.0)
    way = tilt.T @ body.root_link.p
    # sin - mu cos of gravity, from rest, along +x.
    expected = 0.5 * 9.80665 * (math.sin(SLOPE) - 0.3 * math.cos(SLOPE))
    assert way[0] == pytest.approx(expected, rel=0.05)


def test_tracks_without_a_joint_id_run(simulate: Simulate) -> None:
    """As in Choreonoid's models a track may be a virtual joint, commanded by its link."""
    body = make_vehicle(ids=False)
    assert (body.num_joints, body.num_virtual_joints) == (0, 2)
    modes = {'left': StateFlag.JOINT_VELOCITY, 'right': StateFlag.JOINT_VELOCITY}
    hardware = simulate(body, make_request(body, modes, READ), 0.002)
    drive(hardware, 0.4, 0.4, 1.5)
    assert body.root_link.p[0] == pytest.approx(0.6, abs=0.03)


def test_command_acts_one_tick_later(simulate: Simulate) -> None:
    """A track has the delay of every joint, and none in no-delay mode."""
    for no_delay, expected in ((False, [0.0, 0.0, 0.5]), (True, [0.0, 0.5, 0.5])):
        body = make_vehicle()
        request = make_request(body, StateFlag.JOINT_VELOCITY, READ, no_delay=no_delay)
        hardware = simulate(body, request)
        seen = []
        for _ in range(3):
            hardware.read()
            seen.append(body.link('left').dq)
            body.link('left').dq_target = 0.5
            hardware.write()
        assert seen == expected


def test_track_takes_velocities_only(simulate: Simulate) -> None:
    """Anything else is refused with what is possible."""
    body = make_vehicle()
    with pytest.raises(UnsupportedChannel, match=r"JOINT_EFFORT for link 'left'.*JOINT_VELOCITY"):
        simulate(body, make_request(body, {'left': StateFlag.JOINT_EFFORT}))


def make_conveyor(angle: float) -> Body:
    """Belt that carries along x, tilted about y."""
    c, s = math.cos(angle), math.sin(angle)
    belt = LinkDescription(
        'belt',
        parent='base',
        joint_type=JointType.PSEUDO_CONTINUOUS_TRACK,
        joint_id=0,
        joint_axis=LEFT,
        translation=np.array([0.0, 0.0, 0.5]),
        rotation=np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]),
        material='belt',
        shapes=[Shape(Box((3.0, 0.4, 0.1)))],
    )
    base = LinkDescription('base', joint_type=JointType.FIXED)
    return Body(BodyDescription('conveyor', [base, belt], materials={'belt': Material(0.8)}))


@pytest.mark.parametrize('cone', [mujoco.mjtCone.mjCONE_ELLIPTIC, mujoco.mjtCone.mjCONE_PYRAMIDAL])
@pytest.mark.parametrize('angle', [0.0, -math.radians(15.0)])
def test_object_on_a_conveyor_goes_at_belt_speed(
    simulate: Simulate, angle: float, cone: mujoco.mjtCone
) -> None:
    """A box is carried at the speed of the belt, on the level and uphill, and back."""
    body = make_conveyor(angle)
    tilt = body.links[1].R
    place = [0.0, 0.0, 0.5] + tilt @ [0.0, 0.0, 0.101]
    box = ObjectParameters(
        size=[0.1, 0.1, 0.1], position=place.tolist(), rpy=[0.0, angle, 0.0], mass=0.5
    )
    request = make_request(body, StateFlag.JOINT_VELOCITY, READ)
    hardware = simulate(body, request, 0.002, objects={'box': box})
    hardware.model.opt.cone = cone

    def carried(speed: float) -> float:
        body.link('belt').dq_target = speed
        for _ in range(250):
            hardware.read()
            hardware.write()
        start = hardware.data.body('object/box').xpos.copy()
        for _ in range(500):
            hardware.read()
            hardware.write()
        return float(tilt[:, 0] @ (hardware.data.body('object/box').xpos - start))

    assert carried(0.3) == pytest.approx(0.3, rel=0.02)
    assert carried(-0.2) == pytest.approx(-0.2, rel=0.02)


@pytest.mark.parametrize('kind', ['thing', 'link'])
def test_rays_hit_all_of_what_is_tilted(simulate: Simulate, kind: str) -> None:
    """A bundle of rays sees things that never move, and links without mass, as single rays do."""
    import mujoco

    bar = ObjectParameters(size=[1.0, 0.4, 0.2], position=[0.0, 0.0, 1.3], rpy=[0.35, 0.0, 0.0])
    base = LinkDescription('base', joint_type=JointType.FIXED)
    plate = LinkDescription(
        'plate',
        parent='base',
        mass=0.0,
        inertia=np.zeros((3, 3)),
        translation=np.array(bar.position),
        rotation=pin.rpy.rpyToMatrix(*bar.rpy),
        shapes=[Shape(Box((1.0, 0.4, 0.2)))],
    )
    links = [base, plate] if kind == 'link' else [base]
    body = Body(BodyDescription('wall', links))
    objects = {'bar': bar} if kind == 'thing' else {}
    hardware = simulate(body, make_request(body, {}), objects=objects)
    eye = np.array([-3.0, -2.0, 2.5])
    rng = np.random.default_rng(0)
    rays = np.array(bar.position) + rng.uniform(-0.6, 0.6, (1000, 3)) - eye
    rays /= np.linalg.norm(rays, axis=1)[:, None]
    caster = RayCaster(hardware.model, hardware.data, rays, body=0)
    caster.cast(eye, np.eye(3), 0.0, 100.0)
    for ray, distance in zip(rays, caster.distances, strict=True):
        hit = np.zeros(1, dtype=np.int32)
        alone = mujoco.mj_ray(
            hardware.model, hardware.data, eye, ray, SEEN_GROUPS, 1, -1, hit, None
        )
        assert distance == pytest.approx(alone if alone >= 0.0 else np.inf)
