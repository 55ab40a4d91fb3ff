"""What a robot is called in a MuJoCo model."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.hardware.mujoco.loops import Piston


@dataclass
class DeviceElements:
    """Names of what stands for devices, by the device's name.

    Attributes:
        sensors: MuJoCo's sensors, in the order of the device's own values.
        cameras: MuJoCo's cameras.
        lights: MuJoCo's lights.
    """

    sensors: dict[str, list[str]] = field(default_factory=dict)
    cameras: dict[str, str] = field(default_factory=dict)
    lights: dict[str, str] = field(default_factory=dict)


@dataclass
class RobotElements:
    """Names of what stands for a robot in a MuJoCo spec, and in the model compiled from it.

    Attributes:
        links: MuJoCo body of each link, by link index.
        inner_links: indices of links that no MuJoCo body stands for: those between several
            joints of one MuJoCo body. `links` has the body that they are part of.
        joints: MuJoCo joint of each slot that has one.
        actuators: MuJoCo actuator that takes the loop's commands, of each of these slots.
        root_joint: free joint of the root; empty where the root is fixed.
        free_joints: free joint of each link that has a parent and moves on its own, by index.
        devices: the devices.
        pistons: what slides in joints that close loops.
    """

    links: list[str] = field(default_factory=list)
    inner_links: frozenset[int] = frozenset()
    joints: dict[int, str] = field(default_factory=dict)
    actuators: dict[int, str] = field(default_factory=dict)
    root_joint: str = ''
    free_joints: dict[int, str] = field(default_factory=dict)
    devices: DeviceElements = field(default_factory=DeviceElements)
    pistons: list[Piston] = field(default_factory=list)
