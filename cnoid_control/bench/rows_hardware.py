"""The simulated robot against MuJoCo alone, its sensors against none, a scan against rays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import StateFlag
from cnoid_control.body.devices import VisionSensor
from cnoid_control.hardware.hardware import IORequest
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot


def standing(devices: bool = False) -> Work:
    """One tick of SR1 held by its servos; with all its sensors but the cameras, if asked for."""
    from cnoid_control.hardware.mujoco.hardware import MujocoHardware

    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    hardware = MujocoHardware(body, config.hardware_parameters, config.time_step)
    request = IORequest(outputs=dict.fromkeys(body.joint_names, StateFlag.JOINT_DISPLACEMENT))
    if devices:
        request.devices = {
            device.name for device in body.devices if not isinstance(device, VisionSensor)
        }
    hardware.open(request)

    def tick() -> None:
        hardware.read()
        hardware.write()

    return tick


def stepping() -> Work:
    """One step of the same simulation, by MuJoCo alone."""
    import mujoco

    from cnoid_control.hardware.mujoco.hardware import MujocoHardware

    config = load_config('sr1_pd')
    body = make_robot(config.parameters.robot, config.folder)
    hardware = MujocoHardware(body, config.hardware_parameters, config.time_step)
    hardware.open(IORequest(outputs=dict.fromkeys(body.joint_names, StateFlag.JOINT_DISPLACEMENT)))
    model, data = hardware.model, hardware.data

    def step() -> None:
        mujoco.mj_step(model, data)

    return step


@contextmanager
def against_mujoco() -> Iterator[tuple[Work, Work]]:
    """Reading and writing around the physics, and the physics."""
    yield standing(), stepping()


@contextmanager
def with_sensors() -> Iterator[tuple[Work, Work]]:
    """The same robot with and without its sensors."""
    yield standing(devices=True), standing()


@contextmanager
def by_vectors() -> Iterator[tuple[Work, Work]]:
    """All rays of a laser scan in one call, and one call a ray."""
    import mujoco

    from cnoid_control.body.devices import RangeSensor
    from cnoid_control.hardware.mujoco.camera_models import range_directions
    from cnoid_control.hardware.mujoco.hardware import MujocoHardware
    from cnoid_control.hardware.mujoco.renderer import SEEN_GROUPS, RayCaster

    config = load_config('light_camera')
    body = make_robot(config.parameters.robot, config.folder)
    hardware = MujocoHardware(body, config.hardware_parameters, config.time_step)
    hardware.open(IORequest())
    model, data = hardware.model, hardware.data
    laser = body.devices_of(RangeSensor)[0]
    assert laser.link is not None
    carrier = laser.link.index + 1
    directions = range_directions(laser)
    caster = RayCaster(model, data, directions, carrier)
    axes = laser.link.R @ laser.R_optical
    origin = laser.link.p + laser.link.R @ laser.p_local
    geom = np.zeros(1, dtype=np.int32)

    def scan() -> None:
        caster.cast(origin, axes, laser.min_distance, laser.max_distance)

    def ray_by_ray() -> None:
        for ray in directions @ axes.T:
            mujoco.mj_ray(model, data, origin, ray, SEEN_GROUPS, True, carrier, geom)

    yield scan, ray_by_ray


ROWS = (
    BenchRow(
        'hardware',
        'simulated SR1: physics, state and commands of a tick',
        'mj_step alone, the same model',
        against_mujoco,
        goal=0.8,
        calls=2000,
    ),
    BenchRow(
        'sensors',
        'simulated SR1 with force sensors, gyro, accelerometer and IMU',
        'the same without',
        with_sensors,
        goal=0.7,
        calls=2000,
    ),
    BenchRow(
        'laser',
        'laser scan of 91 rays as the range sensor takes it',
        'mj_ray for one ray after the other',
        by_vectors,
        goal=1.0,
        calls=300,
    ),
)
