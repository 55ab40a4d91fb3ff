"""One MuJoCo simulation with several robots in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import mujoco

from cnoid_control.body import Body
from cnoid_control.hardware.exceptions import HardwareError
from cnoid_control.hardware.mujoco.elements import RobotElements
from cnoid_control.hardware.mujoco.hardware import Call, MujocoHardware, physics_calls
from cnoid_control.hardware.mujoco.mjcf_world import DISABLED_GROUP, MjcfWorld, match_options
from cnoid_control.hardware.mujoco.model import (
    MujocoModel,
    add_acceleration_sensor,
    robot_spec,
    set_damping,
    world_spec,
)
from cnoid_control.hardware.mujoco.parameters import MujocoParameters

# Bits of MuJoCo's collision masks from which each robot has one of its own, and their number.
FIRST_BIT, MAX_ROBOTS = 8, 23


def _part(
    body: Body, parameters: MujocoParameters, period: float
) -> tuple[mujoco.MjSpec, RobotElements]:
    """Spec of one of the robots alone, and what its parts are called."""
    if not body.description.mjcf:
        spec, robot = robot_spec(body, parameters, period)
        add_acceleration_sensor(spec, robot.elements.links[0])
        return spec, robot.elements
    if body.description.scene:
        raise HardwareError(f'{body.name}: a robot in a scene of its own cannot share a world')
    file = MjcfWorld(body, replace(parameters, floor=False, objects={}))
    add_acceleration_sensor(file.spec, next(name for name in file.elements.links if name))
    return file.spec, file.elements


class MujocoWorld:
    """Robots that share one simulation: they touch each other and the things around them.

    Each robot is a hardware of its own, with its own loop. The physics of a tick runs when the
    first of them reads the next state, which is after all of them have written their commands.

    Attributes:
        model, data: MuJoCo's model and its state.
        robots: the robots by name; names in the model begin with `NAME/`.
    """

    def __init__(
        self,
        robots: Mapping[str, tuple[Body, MujocoParameters]],
        parameters: MujocoParameters,
        time_step: float,
    ) -> None:
        """Build the simulation in the robots' present states.

        Args:
            robots: each robot, in the posture and at the place where it starts, with its own
                options.
            parameters: options of the world: physics, floor, things.
            time_step: control period of all robots [s].

        Raises:
            HardwareError: there are too many robots, or MuJoCo refuses one.
        """
        if len(robots) > MAX_ROBOTS:
            raise HardwareError(f'{len(robots)} robots in one world; there can be {MAX_ROBOTS}')
        spec = world_spec('world', parameters, time_step)
        spec.option.disableactuator |= 1 << DISABLED_GROUP
        elements = {}
        everyone = sum(1 << (FIRST_BIT + i) for i in range(len(robots)))
        for i, (name, (body, own)) in enumerate(robots.items()):
            part, elements[name] = _part(body, own, time_step)
            bit = 1 << (FIRST_BIT + i)
            for geom in part.geoms:
                if geom.contype or geom.conaffinity:
                    geom.contype |= bit
                    geom.conaffinity |= everyone & ~bit
            match_options(part, spec)
            try:
                spec.attach(part, prefix=f'{name}/', frame=spec.worldbody.add_frame())
            except ValueError as error:
                raise HardwareError(f'robot {name!r}: {" ".join(str(error).split())}') from error
        try:
            self.model: mujoco.MjModel = spec.compile()
        except (ValueError, RuntimeError) as error:
            raise HardwareError(' '.join(str(error).split())) from error
        self.data = mujoco.MjData(self.model)
        self._steps = round(time_step / self.model.opt.timestep)
        self._tick = 0
        self._wanted: set[int] = set()
        self.robots: dict[str, MujocoHardware] = {}
        for name, (body, own) in robots.items():
            mapping = MujocoModel(body, self.model, elements[name], f'{name}/')
            if not body.description.mjcf:
                set_damping(mapping)
            self.robots[name] = MujocoHardware(body, own, time_step, mapping, self)
        self.line_up()

    def line_up(self) -> None:
        """Put the calls of a tick into their order; again whenever a robot's have changed."""
        robots = [robot for robot in self.robots.values() if hasattr(robot, 'before')]
        self._calls: list[Call] = physics_calls(self.model, self.data, self._steps, robots)

    def wants_sensors(self, robot: MujocoHardware, wanted: bool) -> bool:
        """Note whether a robot needs MuJoCo's sensors; whether any does."""
        (self._wanted.add if wanted else self._wanted.discard)(id(robot))
        return bool(self._wanted)

    def reach(self, tick: int) -> None:
        """Run the physics up to a tick, if it is not there yet."""
        if tick > self._tick:
            self._tick = tick
            for call in self._calls:
                call()

    def reset(self) -> None:
        """Count from the start again."""
        self._tick = 0
