"""Robot in embedded MuJoCo physics."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import mujoco
import numpy as np

from cnoid_control.body import Body, Link, StateFlag
from cnoid_control.body.solids import lowest_height
from cnoid_control.exceptions import choices
from cnoid_control.hardware.disturbance import Disturbance, DisturbanceParameters
from cnoid_control.hardware.divergence import Diverged
from cnoid_control.hardware.exceptions import HardwareError, unknown_device
from cnoid_control.hardware.hardware import Hardware, IORequest, require_devices
from cnoid_control.hardware.mujoco.command_delay import CommandDelay
from cnoid_control.hardware.mujoco.deviations import (
    ActuatorErrors,
    apply_deviations,
    displace,
)
from cnoid_control.hardware.mujoco.gather import Part, gathering
from cnoid_control.hardware.mujoco.joints import JointCommands
from cnoid_control.hardware.mujoco.links import LinkInputs, LinkOutputs
from cnoid_control.hardware.mujoco.loops import place_pistons, warn_of_open_loops
from cnoid_control.hardware.mujoco.model import MujocoModel, build_model
from cnoid_control.hardware.mujoco.parameters import DeviationParameters, MujocoParameters
from cnoid_control.hardware.mujoco.pushes import Pushes
from cnoid_control.hardware.mujoco.renderer import CameraRenderer, Lights
from cnoid_control.hardware.mujoco.saturation import Saturation
from cnoid_control.hardware.mujoco.sensors import MotionSensors, VisionSensors
from cnoid_control.hardware.mujoco.surroundings import Surroundings
from cnoid_control.hardware.mujoco.terrain import FLOOR, Terrain
from cnoid_control.hardware.mujoco.tracks import TrackCommands

if TYPE_CHECKING:
    from cnoid_control.hardware.mujoco.world import MujocoWorld

BAD_COMMAND = int(mujoco.mjtWarning.mjWARN_BADCTRL)
BAD_ACCELERATION = int(mujoco.mjtWarning.mjWARN_BADQACC)
DIVERGENCE = {
    'a command': mujoco.mjtWarning.mjWARN_BADCTRL,
    'a position': mujoco.mjtWarning.mjWARN_BADQPOS,
    'a velocity': mujoco.mjtWarning.mjWARN_BADQVEL,
    'an acceleration': mujoco.mjtWarning.mjWARN_BADQACC,
}

# No robot moves at this speed [m/s] or [rad/s]: it has been shot away.
ABSURD_SPEED = 1e4

# Ticks whose clamps by MuJoCo are counted together.
COUNTED_TICKS = 64

# Steps in which the height is found at which a robot touches uneven ground.
HALVINGS = 18
# Shapes that do not collide may reach below those that do, by this much [m].
LOW_SHAPES = 0.5

# Names of the joints' own sensors in the options.
JOINT_SENSORS = ('q', 'dq', 'ddq', 'u')

Call = Callable[[], object]


def physics_calls(
    model: mujoco.MjModel, data: mujoco.MjData, steps: int, robots: list[MujocoHardware]
) -> list[Call]:
    """Calls that run the physics of a tick, with what robots do between its steps."""
    # A step is split so that kinematics and sensors are up to date when it is over: step2
    # ends it with the controls, step1 begins the next one.
    begin = partial(mujoco.mj_step1, model, data)
    end = partial(mujoco.mj_step2, model, data)
    if model.opt.integrator == int(mujoco.mjtIntegrator.mjINT_RK4):
        # It evaluates the whole step more than once.
        end = partial(mujoco.mj_step, model, data)
    before = [call for robot in robots for call in robot.before]
    between = [call for robot in robots for call in robot.between]
    at_end = [call for robot in robots for call in robot.at_end]
    whole_step: list[Call] = [*before, end, *between, begin]
    return [*whole_step * (steps - 1), *before, end, *at_end, begin]


logger = logging.getLogger(__name__)
# Otherwise MuJoCo writes its warnings to a file of its own in the current folder.
mujoco.set_mju_user_warning(logger.warning)


class MujocoHardware(Hardware):
    """Robot simulated by MuJoCo in this process.

    `read` runs the physics of one tick (but the first one, which gives the initial state) and
    takes the new state over; `write` takes the commands over. Positions, velocities and gyros are
    those at `time`; accelerations, efforts, forces and contacts are those of the physics step
    that led there.

    Attributes:
        name: 'mujoco'.
        body: the robot's state and the commands for it.
        time_step: control period [s].
        time: time of the last state read [s].
        model, data: MuJoCo's model and its state.
        world: what runs the physics for several robots; None where the robot is alone.
        terrain: uneven ground; None where it is a floor, or what a file has.
    """

    # What every tick looks up: quicker here, and so are methods where few attributes are left.
    __slots__ = (
        '_calls',
        '_fresh',
        '_next_count',
        '_saturation',
        '_speed',
        '_tick',
        '_warnings',
        '_writes',
        'body',
        'data',
        'dt',
        'is_due',
        'model',
        'parameters',
        'time',
        'time_step',
        'world',
    )

    name = 'mujoco'

    def __init__(
        self,
        body: Body,
        parameters: MujocoParameters,
        time_step: float,
        mapping: MujocoModel | None = None,
        world: MujocoWorld | None = None,
    ) -> None:
        """Build the simulation in the body's present state.

        Args:
            body: the robot, in the posture and at the place where it starts.
            parameters: options.
            time_step: control period [s].
            mapping: the robot in a world that it shares with others.
            world: that world.

        Raises:
            HardwareError: the robot cannot be simulated with these options.
        """
        self.body = body
        self.parameters = parameters
        self.time_step = time_step
        self.time = 0.0
        # As in the class, where looking them up in every tick would take longer.
        self.dt, self.is_due = Hardware.dt, Hardware.is_due
        self.world = world
        deviations = parameters.deviations
        uneven = parameters.terrain.is_uneven
        special = deviations != DeviationParameters() or parameters.pushes or uneven
        if world is not None and special:
            raise HardwareError(
                'hardware.mujoco.deviations, pushes and terrain are for a robot that is alone in '
                'its world'
            )
        if uneven and not parameters.floor:
            raise HardwareError('hardware.mujoco.terrain: there is none without a floor')
        displace(body, deviations)
        self._mapping = mapping or build_model(body, parameters, time_step)
        self.model = self._mapping.model
        self._steps = round(time_step / self.model.opt.timestep)
        self.data = mujoco.MjData(self.model) if world is None else world.data
        self._pushes = Pushes(self._mapping, self.data)
        errors = ActuatorErrors(self._mapping, deviations)
        # Before the masses change: the drives have the gains that the model asks for.
        self._saturation = Saturation(self._mapping, self.data, self._steps)
        self._commands = JointCommands(
            self._mapping, self.data, body, parameters, errors, self._saturation
        )
        apply_deviations(self._mapping, self.data, deviations)
        self._delay = CommandDelay(body, parameters.command_delay, time_step)
        self._inputs = LinkInputs(self._mapping, self.data, body)
        self._outputs = LinkOutputs(self._mapping, self.data, body)
        self._tracks = TrackCommands(self._mapping, self.data, body)
        self._sensors = MotionSensors(self._mapping, self.data, body, parameters, time_step)
        self._lights = Lights(self._mapping, self.data, body)
        self._maker = CameraRenderer(self._mapping, self.data, self._lights, parameters)
        self._vision = VisionSensors(body, self._maker, parameters.seed)
        self._surroundings = Surroundings(self._mapping, self.data)
        self._request = IORequest()
        self._tick = 0
        self._next_count = COUNTED_TICKS
        self._fresh = True
        self._bind()
        self.terrain = Terrain(parameters) if uneven else None
        if self.terrain is not None:
            self.terrain.put(self.model)
            self._stand_on(self.terrain)
        self._initial = body.save_state()
        for name in parameters.sensors:
            if name not in (known := [*JOINT_SENSORS, *(d.name for d in body.devices)]):
                raise unknown_device(name, known)
        self._plan_pushes()

    def _stand_on(self, terrain: Terrain) -> None:
        """Raise or lower a floating robot until it is as high above the ground as it was."""
        body, root = self.body, self.body.root_link
        if not self._mapping.free_root:
            return
        body.calc_forward_kinematics()
        clearance, start = lowest_height(body), float(root.p[2])
        radius = max(float(np.hypot(*(link.p - root.p)[:2])) for link in body.links) + 1.0
        low, high = terrain.around(float(root.p[0]), float(root.p[1]), radius)
        # What is lowest need not collide.
        low -= LOW_SHAPES
        ground = self.model.geom(FLOOR).id
        for _ in range(HALVINGS):
            middle = (low + high) / 2.0
            root.p[2] = start - clearance + middle
            self._set_state()
            mujoco.mj_kinematics(self.model, self.data)
            mujoco.mj_collision(self.model, self.data)
            touches = any(ground in contact.geom for contact in self.data.contact)
            low, high = (middle, high) if touches else (low, middle)
        root.p[2] = start - clearance + high + max(clearance, 0.0)
        mujoco.mj_resetData(self.model, self.data)
        body.initialize_state()

    def _plan_pushes(self) -> None:
        """Have the pushes of the options act when their time comes."""
        links = {link.name: link for link in self.body.links}
        step = self.model.opt.timestep
        for name, push in self.parameters.pushes.items():
            key = f'hardware.mujoco.pushes.{name}'
            if push.link not in links:
                raise HardwareError(f'{key}.link: unknown {push.link!r}; {choices(links)}')
            if len(push.force) != 3 or len(push.point) not in (0, 3):
                raise HardwareError(f'{key}: force and point have 3 values each')
            self._pushes.add(
                links[push.link].index,
                np.array(push.force),
                np.array(push.point) if push.point else None,
                max(1, round(push.duration / step)),
                round(push.time / step),
            )

    def _bind(self) -> None:
        """Bind the calls that copy the state to the body in each tick."""
        data, mapping, body = self.data, self._mapping, self.body
        arrays = body.joint_arrays
        self._qpos, self._qvel = data.qpos, data.qvel
        # In MuJoCo's own functions, which are at hand after a step, it takes less than in numpy.
        self._speed = partial(mujoco.mju_norm, data.qvel)
        self._joint_values = {name: arrays[name] for name in JOINT_SENSORS}
        # How often MuJoCo has warned, by kind; it stays up to date.
        self._warnings = memoryview(data.warning.number)
        slots = mapping.slots
        self._state = [
            Part(data.qpos, mapping.qpos, arrays['q'], slots),
            Part(data.qvel, mapping.dofs, arrays['dq'], slots),
        ]
        self._acceleration = Part(data.qacc, mapping.dofs, arrays['ddq'], slots)
        self._effort = Part(data.qfrc_actuator, mapping.dofs, arrays['u'], slots)
        self._take_root: list[Call] = []
        if mapping.free_root:
            root_link, first_dof = mapping.links[0], mapping.root_dofs.start
            v, w = body.root_motion
            # MuJoCo's quaternion is w x y z, the body's x y z w.
            pose = mapping.root_qpos.start + np.array([0, 1, 2, 4, 5, 6, 3])
            three, seven = np.arange(3), np.arange(pose.size)
            self._state += [
                Part(data.qpos, pose, body.configuration, seven),
                Part(data.qvel, first_dof + three, v, three),
                # The first three numbers of cvel are the angular velocity in world axes.
                Part(data.cvel.reshape(-1), 6 * root_link + three, w, three),
            ]
            axes = data.xmat[root_link].reshape(3, 3)
            self._take_root = [partial(body.set_root_axes, axes)]
        for index in mapping.free_qpos:
            body_id = mapping.links[index]
            axes, place = data.xmat[body_id].reshape(3, 3), data.xpos[body_id]
            self._take_root.append(partial(body.set_free_pose, index, axes, place))

    def open(self, request: IORequest) -> None:
        """Set up what is read and commanded; called again, it changes that while running.

        The commands that the body holds now act from the first physics step on.

        Raises:
            HardwareError: a channel does not exist.
        """
        if self._tick == 0:
            self._initial = self.body.save_state()
            warn_of_open_loops(self.body)
            self._set_state()
        require_devices(self.body, request, self.name)
        self._request = request
        self._saturation.counts = self.limit_counts
        self._delay.show()
        self._commands.open(request)
        self._delay.give_back()
        self._outputs.open(request)
        self._tracks.open(request)
        self._inputs.open(request)
        self._sensors.open(request.devices)
        self._vision.open(request.devices, self.time)
        measured = self._sensors.active or self._vision.reads_sensors
        self._enable_sensors(self._inputs.reads_acceleration or measured)
        self._compile(request)
        mujoco.mj_forward(self.model, self.data)
        self._inputs.take_forces()
        for call in self._after:
            call()

    def _compile(self, request: IORequest) -> None:
        """List the calls of a tick, so that what was not requested costs nothing."""
        outputs, inputs, commands = self._outputs, self._inputs, self._commands
        flags = StateFlag.NONE
        for flag in request.inputs.values():
            flags |= flag
        values = self._joint_values
        # Calls before and after each physics step of a tick, and after the last one.
        before: list[Call] = []
        saturation = self._saturation
        self.before, self.between = before, [*saturation.after_step]
        if commands.integrates:
            self.between.append(commands.integrate)
        forces = [inputs.take_forces] if inputs.reads_forces else []
        # At the end of a tick's physics: what belongs to it, then the commands for the next.
        at_end: list[Call] = [*self.between, *saturation.after_tick, *forces, *commands.latches]
        self.at_end = at_end
        self._writes: list[Call] = list(commands.writes)
        if self._delay.ticks:
            self._writes = [self._delay.take, *self._writes, self._delay.give_back]
        if self._tracks.active:
            at_end.append(partial(self._tracks.integrate, self.time_step))
        for channel in (outputs, self._tracks):
            if channel.active:
                before.append(channel.apply)
                at_end.append(channel.latch)
                self._writes.append(channel.write)
        parts = [*self._state]
        if flags & StateFlag.JOINT_ACCELERATION:
            parts.append(self._acceleration)
        if flags & StateFlag.JOINT_EFFORT:
            parts.append(self._effort)
        self._after: list[Call] = [*gathering(self.body, parts), *self._take_root]
        for name, errors in self.parameters.sensors.items():
            if name in values:
                self._after.append(self._disturb(name, errors))
        if inputs.reads_motion:
            self._after.append(inputs.take_motion)
        if self._sensors.active:
            self._after.append(self._sensors.take)
        self._line_up()

    def _line_up(self) -> None:
        """Put the calls of a tick into their order."""
        if self._pushes.active and self._pushes.apply not in self.before:
            self.before.insert(0, self._pushes.apply)
        self._calls: list[Call] = list(self._after)
        if self.world is None:
            self._calls[:0] = physics_calls(self.model, self.data, self._steps, [self])
        else:
            self.world.line_up()
        if self._vision.active:
            self._calls.append(self.look)

    def push(
        self,
        link: Link,
        force: np.ndarray,
        duration: float,
        point: np.ndarray | None = None,
    ) -> None:
        """Push a link from the next physics step on, whatever the controllers do.

        Args:
            link: the link.
            force: world axes [N], shape (3,).
            duration: [s].
            point: in the link's frame [m], shape (3,); its centre of mass where None.
        """
        steps = round(duration / self.model.opt.timestep)
        self._pushes.add(link.index, force, point, max(1, steps))
        self._line_up()

    def _disturb(self, name: str, errors: DisturbanceParameters) -> Call:
        """Call that makes one of the joints' own sensors err."""
        values = self._joint_values[name]
        disturbance = Disturbance(name, values.size, errors, self.time_step, self.parameters.seed)

        def disturb() -> None:
            values[:] = disturbance.apply(values)

        return disturb

    def _enable_sensors(self, enabled: bool) -> None:
        """Let MuJoCo evaluate its sensors, and with them the accelerations of links, or not."""
        if self.world is not None:
            enabled = self.world.wants_sensors(self, enabled)
        disable = int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        if enabled:
            self.model.opt.disableflags &= ~disable
        else:
            self.model.opt.disableflags |= disable

    def reset(self) -> None:
        """Go back to the state and the time at the start; the next read gives that state."""
        self.body.restore_state(self._initial)
        self._pushes.clear()
        self._plan_pushes()
        self._delay.reset()
        if self.world is not None:
            self.world.reset()
        mujoco.mj_resetData(self.model, self.data)
        self._set_state()
        self._tick = 0
        self._next_count = COUNTED_TICKS
        self.time = 0.0
        self._fresh = True
        self.open(self._request)

    def _set_state(self) -> None:
        """Put the simulation into the body's state."""
        mapping, body, root = self._mapping, self.body, self.body.root_link
        if mapping.key >= 0:
            mujoco.mj_resetDataKeyframe(self.model, self.data, mapping.key)
        if mapping.free_root:
            pose, motion = self._qpos[mapping.root_qpos], self._qvel[mapping.root_dofs]
            pose[:3], pose[3:] = root.p, np.roll(body.pin_q()[3:7], 1)
            motion[:3], motion[3:] = root.v, root.R.T @ root.w
        else:
            mapping.place_fixed_root(root.p, np.roll(body.pin_q()[3:7], 1))
        body.calc_forward_kinematics(velocity=True)
        mapping.put_free_links(self.data)
        self._qpos[mapping.qpos] = body.joint_arrays['q'][mapping.slots]
        self._qvel[mapping.dofs] = body.joint_arrays['dq'][mapping.slots]
        place_pistons(self.model, self.data, mapping.pistons, mapping.prefix)

    def read(self) -> bool:
        """Run the physics of a tick and copy the state to the body."""
        if self._fresh:
            self._fresh = False
            if self.world is not None:
                self._take_first_state()
            self.look()
            return True
        self._tick = tick = self._tick + 1
        self.time = tick * self.time_step
        if self.world is not None:
            self.world.reach(tick)
        for call in self._calls:
            call()
        warnings, speed = self._warnings, self._speed
        # Written so that a speed which is not a number is found, too.
        if warnings[BAD_ACCELERATION] or warnings[BAD_COMMAND] or not speed() < ABSURD_SPEED:
            self._report_divergence()
        if tick >= self._next_count:
            self._next_count = tick + COUNTED_TICKS
            self._saturation.count()
        return True

    def _take_first_state(self) -> None:
        """Look again: the other robots were placed after this one."""
        mujoco.mj_forward(self.model, self.data)
        self._inputs.take_forces()
        for call in self._after:
            call()

    def look(self) -> None:
        """Let the vision sensors look that it is time for."""
        self._vision.take(self.time)

    def look_while(self, is_wanted: Callable[[str], bool]) -> None:
        """Let vision sensors look only while somebody wants to know, by the sensor's name."""
        self._vision.is_wanted = is_wanted

    def contact_forces(self) -> np.ndarray:
        """Where the robot is touched now, one row per point.

        A row is the index of the link, the position [m] and the force on the link [N], world
        axes, shape (points, 7).
        """
        return self._surroundings.contact_forces()

    def things(self) -> dict[str, np.ndarray]:
        """Poses of what moves besides the robot: x y z and quaternion x y z w, by name."""
        return self._surroundings.things()

    def _report_divergence(self) -> None:
        found = [
            f'{what} is not finite'
            for what, kind in DIVERGENCE.items()
            if self.data.warning[int(kind)].number
        ]
        what = found[0] if found else f'something moves faster than {ABSURD_SPEED:g} m/s or rad/s'
        text = f'the simulation diverged at {self.time:.4f} s: {what}'
        speeds = np.abs(self._qvel[self._mapping.dofs])
        if not speeds.size:
            raise Diverged(text)
        fastest = int(np.argmax(np.where(np.isfinite(speeds), speeds, np.inf)))
        slot = int(self._mapping.slots[fastest])
        # The state of this body may be no numbers any more.
        start = Body(self.body.tree)
        start.restore_state(self._initial)
        raise Diverged(text, start, slot, self.time_step)

    def write(self) -> None:
        """Copy the commands of the body to MuJoCo."""
        for call in self._writes:
            call()

    def count_limits(self) -> None:
        """Count the clamps of the last ticks that were not counted yet."""
        self._saturation.count()

    def close(self) -> None:
        """Free what draws pictures."""
        self._maker.close()
