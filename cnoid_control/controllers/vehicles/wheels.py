"""Wheels and tracks that drive a vehicle over the ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cnoid_control.body import Body, JointType, Link, StateFlag
from cnoid_control.body.description import Capsule, Cylinder, Sphere
from cnoid_control.exceptions import choices
from cnoid_control.parameters import ParameterError, parameter
from cnoid_control.plugin import ControllerIO

# Share of a wheel's axis that must point to a side.
SIDEWAYS = 0.5


@dataclass
class WheelParameters:
    """How driven wheels and tracks are commanded."""

    mode: str = parameter(
        'velocity',
        'velocity, or torque by the gain; tracks take velocities only',
        choices=('velocity', 'torque'),
        read_only=True,
    )
    gain: float = parameter(
        1.0,
        'torque per difference of speed in the mode torque',
        unit='N m s/rad',
        minimum=0.0,
        read_only=True,
    )
    wheel_radius: float = parameter(
        0.0, 'radius of the wheels; 0 for that of their shapes', unit='m', minimum=0.0,
        read_only=True,
    )  # fmt: skip


class Wheel:
    """A wheel or track, by the speed at which it drives the vehicle ahead.

    Attributes:
        link: the link.
        place: its origin in the root's axes at the start [m], shape (3,).
        travel: way of the vehicle per displacement of the joint [m/rad], or 1 or -1 for a track.
    """

    def __init__(self, link: Link, radius: float, key: str) -> None:
        """Look at the model in its present posture.

        Args:
            link: the wheel or track.
            radius: its radius [m]; 0 for that of its shapes.
            key: key of the option that names it, for messages.

        Raises:
            ParameterError: the link cannot drive, or its radius is not known.
        """
        root = link.body.root_link
        self.link = link
        self.place = root.R.T @ (link.p - root.p)
        axis = root.R.T @ link.R @ link.joint_axis
        side = float(axis[1] / np.linalg.norm(axis))
        if link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK:
            self.travel = float(np.sign(side))
        elif link.joint_type is JointType.REVOLUTE:
            self.travel = float(np.sign(side)) * (radius or _radius_of(link, key))
        else:
            raise ParameterError(
                key, f'{link.name!r} is neither a wheel (revolute) nor a track; it cannot drive'
            )
        if abs(side) < SIDEWAYS:
            raise ParameterError(
                key, f'the axis of {link.name!r} does not point to a side of the vehicle (y)'
            )

    @property
    def is_track(self) -> bool:
        """Whether it is a track."""
        return self.link.joint_type is JointType.PSEUDO_CONTINUOUS_TRACK


def _radius_of(link: Link, key: str) -> float:
    for shape in link.description.shapes:
        if isinstance(shape.geometry, (Cylinder, Sphere, Capsule)):
            return shape.geometry.radius
    raise ParameterError(
        key, f'the radius of {link.name!r} is not known by its shapes; give wheel_radius'
    )


class WheelDrive:
    """Driven wheels and tracks, commanded by their speeds over the ground.

    Attributes:
        wheels: the wheels, in the order of their names.
    """

    def __init__(
        self, io: ControllerIO, names: Sequence[str], parameters: WheelParameters, key: str
    ) -> None:
        """Enable the wheels.

        Args:
            io: the controller's io, in initialize().
            names: links or joints that drive.
            parameters: options.
            key: key of the option that names the wheels, for messages.

        Raises:
            ParameterError: there is no wheel of such a name, or it cannot drive.
        """
        io.body.calc_forward_kinematics()
        self.wheels = [
            Wheel(find_joint(io.body, name, key), parameters.wheel_radius, key) for name in names
        ]
        for wheel in self.wheels:
            torque = parameters.mode == 'torque'
            if torque and wheel.is_track:
                raise ParameterError(
                    f'{key}: mode', f'{wheel.link.name!r} is a track: it takes velocities only'
                )
            mode = StateFlag.JOINT_EFFORT if torque else StateFlag.JOINT_VELOCITY
            io.enable_output(wheel.link, mode)
            io.enable_input(wheel.link, StateFlag.JOINT_VELOCITY)

    def drive(self, speeds: Sequence[float], parameters: WheelParameters) -> None:
        """Command speeds over the ground [m/s], one per wheel."""
        for wheel, speed in zip(self.wheels, speeds, strict=True):
            rate = speed / wheel.travel
            if parameters.mode == 'torque':
                wheel.link.u = parameters.gain * (rate - wheel.link.dq)
            else:
                wheel.link.dq_target = rate

    @property
    def speeds(self) -> np.ndarray:
        """Measured speeds over the ground if nothing slips [m/s], one per wheel."""
        return np.array([wheel.link.dq * wheel.travel for wheel in self.wheels])


def find_joint(body: Body, name: str, key: str) -> Link:
    """Link of a body by its name or that of its joint.

    Raises:
        ParameterError: there is none that moves; the message names those that do.
    """
    joints = [joint for joint in body.all_joints if joint.index >= 0]
    for joint in joints:
        if name in (joint.name, joint.joint_name):
            return joint
    known = choices(joint.joint_name for joint in joints)
    raise ParameterError(key, f'{body.name} has no joint {name!r}; {known}')
