"""The sentence about a simulation that has diverged."""

from __future__ import annotations

from collections.abc import Mapping

from cnoid_control.body import Body
from cnoid_control.body.gains import joint_gains
from cnoid_control.hardware.exceptions import HardwareError


class Diverged(HardwareError):
    """Physics that has gone astray; the loop adds what drives the joint that did.

    Attributes:
        joint: name of the joint that moves fastest; empty where none does.
    """

    def __init__(
        self, text: str, start: Body | None = None, slot: int = -1, time_step: float = 0.0
    ) -> None:
        """Name the joint and the gains that it could have.

        Args:
            text: what was seen, and when.
            start: the robot as it started.
            slot: row of the joint in the joint arrays; -1 for none.
            time_step: period of the controllers [s].
        """
        self.joint = ''
        self._text = text
        if start is not None and slot >= 0:
            joint = start.all_joints[slot]
            self.joint = joint.joint_name
            self._text += f', and joint {self.joint!r} is the fastest'
            if slot < start.num_joints:
                gains = joint_gains(start, time_step)
                self._remedy = (
                    f'for its inertia and a period of {time_step:g} s, gains up to kp '
                    f'{gains.kp_limit[slot]:.3g} and kd {gains.kd_limit[slot]:.3g} are stable: '
                    f'lower those of {self.joint!r} (with pd: kp_of, kd_of), or raise `rate`; '
                    'gains that the joint has itself are stable with smaller steps of physics '
                    '(hardware.mujoco.time_step)'
                )
            else:
                self._remedy = 'nothing drives it; give it inertia or damping in the model'
        else:
            self._remedy = 'look for parts that start inside each other or in the floor'
        super().__init__(f'{self._text}; {self._remedy}')

    def driven_by(self, gains: Mapping[str, Mapping[str, float]]) -> HardwareError:
        """The same error with the gains that controllers have, by controller and kind of gain."""
        told = [
            f'{name} drives it with ' + ', '.join(f'{kind} {value:.4g}' for kind, value in own)
            for name, own in ((name, tuple(own.items())) for name, own in gains.items())
            if own
        ]
        return HardwareError('; '.join([self._text, *told, self._remedy]))
