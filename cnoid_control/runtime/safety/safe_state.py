"""What the robot is told to do when nothing else may command it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cnoid_control.body import Body
from cnoid_control.interpolation import smoothstep as smooth
from cnoid_control.parameters import PluginName, parameter
from cnoid_control.runtime.safety.commands import Commands
from cnoid_control.runtime.safety.joint_limits import JointLimits
from cnoid_control.runtime.safety.safe_command import SafeCommand

# Largest plausible gain, and longest plausible time [s].
MAX_GAIN = 1e9
MAX_TIME = 3600.0


@dataclass
class SafeStateParameters:
    """The `safe_state` section of a configuration."""

    effort: str = parameter(
        'hold',
        'what joints commanded by effort do: hold the posture, damp the motion, or nothing',
        choices=('hold', 'damping', 'zero'),
    )
    estop_effort: str = parameter(
        'zero', 'the same for an emergency stop', choices=('hold', 'damping', 'zero')
    )
    kp: float | list[float] = parameter(
        0.0,
        'stiffness of hold; 0 for one from the inertia',
        unit='N m/rad or N/m',
        minimum=0.0,
        maximum=MAX_GAIN,
    )
    kd: float | list[float] = parameter(
        0.0,
        'damping; 0 for one from the inertia',
        unit='N m s/rad or N s/m',
        minimum=0.0,
        maximum=MAX_GAIN,
    )
    frequency: float = parameter(
        50.0,
        'natural frequency where gains come from the inertia',
        unit='rad/s',
        minimum=0.1,
        maximum=MAX_GAIN,
    )
    effort_fade_time: float = parameter(
        0.5,
        'time in which efforts fade when states are no longer known',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    resume_blend_time: float = parameter(
        0.5,
        'time in which a controller takes over after a reset',
        unit='s',
        minimum=0.0,
        maximum=MAX_TIME,
    )
    fallback: PluginName = parameter(
        '', 'controller that takes over instead of holding; none where empty'
    )


class SafeState:
    """Latched stop: once entered, it commands the robot until it is reset.

    Position commands hold, velocity commands are zero, effort commands hold, damp or vanish as
    configured while the joint states are fresh, and fade to zero when they are not; PID actuators
    do the same by their gains, of which the damping stays. When states come back, the posture of
    that moment is held. While nobody takes the commands, positions follow the
    measured ones and efforts fade: whoever takes them up again must not be made to jump.

    Attributes:
        parameters: the configuration.
        reason: why it was entered; empty while a controller commands.
        is_estop: whether it is an emergency stop.
        is_pause: whether it is a mere pause.
        is_finished: whether it holds the robot because the controllers have no more to do.
        entries: how often it was entered.
        is_engaged: whether it commands the robot.
        is_active: whether it commands, or a controller is taking over from it.
    """

    def __init__(
        self,
        body: Body,
        parameters: SafeStateParameters,
        time_step: float,
        report: Callable[[str], None] = lambda reason: None,
        limits: JointLimits | None = None,
    ) -> None:
        """Prepare; a controller commands.

        Args:
            body: the robot, with the measured state and the commands to it.
            parameters: the configuration.
            time_step: period of a tick [s].
            report: told the reason each time that the safe state is entered.
            limits: limits of efforts and gains of a hold; the model's where None. More would
                count as implausible.
        """
        self.parameters = parameters
        self.reason = ''
        self.is_estop = False
        self.is_pause = False
        self.is_finished = False
        self.is_engaged = False
        self.is_active = False
        self.entries = 0
        self._report = report
        self._commands = Commands.of(body)
        given = parameters
        self._safe = SafeCommand(
            body,
            time_step,
            given.kp,
            given.kd,
            given.frequency,
            given.effort_fade_time,
            limits,
        )
        self._has_no_subscriber = False
        self._takeover_time = parameters.resume_blend_time

    @property
    def is_handing_over(self) -> bool:
        """Whether a controller is taking over again."""
        return self.is_active and not self.is_engaged

    @property
    def is_expected(self) -> bool:
        """Whether nothing is wrong: a pause, or the end of what was to be done."""
        return self.is_pause or self.is_finished

    def enter(
        self,
        reason: str,
        estop: bool = False,
        no_subscriber: bool = False,
        pause: bool = False,
        finished: bool = False,
    ) -> None:
        """Stop: hold what is measured now. A later reason does not replace the first one.

        Args:
            reason: one sentence on why.
            estop: whether it is an emergency stop, which overrules a stop of another kind.
            no_subscriber: whether nobody takes the commands any more.
            pause: whether it is a pause: every fault takes the place of this reason.
            finished: whether the controllers have no more to do: so does it of this one.
        """
        self._has_no_subscriber |= no_subscriber
        if self.is_expected and not (pause or finished or estop):
            self.is_pause = self.is_finished = False
            self.reason = reason
            self._report(reason)
            return
        if estop and not self.is_estop:
            self.is_estop = True
        elif self.is_engaged:
            return
        self.reason = reason or 'stopped'
        self.is_pause, self.is_finished = pause, finished
        self.entries += 1
        self.is_engaged = self.is_active = True
        # What fades, where states are missing already, is what was sent last.
        effort = self.parameters.estop_effort if estop else self.parameters.effort
        self._safe.capture(effort, self._commands)
        self._report(self.reason)

    def reset(self) -> bool:
        """Let a controller, restarted from the measured state, take over; False if none waits."""
        if not self.is_engaged:
            return False
        self.reason = ''
        self.is_estop = False
        self.is_pause = self.is_finished = False
        self._has_no_subscriber = False
        self._takeover_time = 0.0
        self._safe.capture(self.parameters.effort)
        self.is_engaged = False
        self.is_active = self.parameters.resume_blend_time > 0.0
        return True

    def apply(self, dt: float, fresh: bool = True) -> None:
        """Replace the body's commands while engaged; mix them while a controller takes over.

        Args:
            dt: time since the last tick [s].
            fresh: whether the measured state is up to date.
        """
        if not self.is_active:
            return
        safe = self._safe.update(dt, fresh, self._has_no_subscriber)
        if self.is_engaged:
            self._commands.take(safe)
            return
        self._takeover_time += dt
        weight = 1.0 - smooth(min(1.0, self._takeover_time / self.parameters.resume_blend_time))
        self._commands.blend(safe, weight)
        self.is_active = self._takeover_time < self.parameters.resume_blend_time
