"""What a command message means to joint actuators."""

from __future__ import annotations

from typing import Any

import numpy as np

from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.composition.exceptions import WrongCommand
from cnoid_control.controllers.drive import JointDrive
from cnoid_control.controllers.drive.drive_parameters import GAINS

VECTORS = ('qcmd', 'dqcmd', 'torquecmd', *GAINS)


class CommandInterpreter:
    """Turns command messages into what each joint of a drive does.

    Joint by joint: with `qcmd` it is servoed (to velocity `dqcmd` or 0, with `torquecmd` or 0
    added), else with `dqcmd` it runs at that velocity for the time `tcmd`, else with `torquecmd`
    it gets that torque, else the last command stays in force.
    """

    def __init__(self, drive: JointDrive, size: int) -> None:
        """Command a drive.

        Args:
            drive: the actuators.
            size: number of joints of the robot, the length of the vectors in messages.
        """
        self._drive = drive
        self._size = size
        self._default_gains = drive.gains.copy()
        self._until = np.full(drive.size, np.inf)

    def set_gains(self, gains: np.ndarray) -> None:
        """Use other gains where messages give none, shape (3, n)."""
        self._default_gains = gains
        self._drive.gains[:] = gains

    def take(self, message: Message | None, time: float) -> None:
        """Take a message over.

        Args:
            message: the command, or None for none.
            time: time of the tick [s].

        Raises:
            WrongCommand: a vector has the wrong size, or `dqcmd` comes without `tcmd`.
        """
        self._end_velocities(time)
        if not message:
            return
        vectors = {key: self._vector(key, message.get(key)) for key in VECTORS}
        q, dq, u = vectors['qcmd'], vectors['dqcmd'], vectors['torquecmd']
        servoed = ~np.isnan(q)
        moved = ~np.isnan(dq) & ~servoed
        pushed = ~np.isnan(u) & ~servoed & ~moved
        if servoed.any():
            rest = np.nan_to_num(dq[servoed]), np.nan_to_num(u[servoed])
            self._drive.set_pid(np.flatnonzero(servoed), q[servoed], *rest)
        if moved.any():
            duration = message.get('tcmd')
            if duration is None:
                raise WrongCommand('tcmd', None, 'dqcmd without qcmd needs the time it is for')
            self._drive.set_velocity(np.flatnonzero(moved), dq[moved])
            self._until[moved] = time + float(np.min(duration))
        if pushed.any():
            self._drive.set_torque(np.flatnonzero(pushed), u[pushed])
        for row, key in enumerate(GAINS):
            gains = self._default_gains[row]
            given = vectors[key]
            self._drive.gains[row] = np.where(np.isnan(given), gains, given)

    def _end_velocities(self, time: float) -> None:
        over = self._until <= time + 1e-9
        if over.any():
            places = np.flatnonzero(over)
            self._drive.set_pid(places, self._drive.q[places])
            self._until[over] = np.inf

    def _vector(self, key: str, value: Any) -> np.ndarray:
        """Elements of the driven joints; NaN where the message says nothing."""
        if value is None:
            return np.full(self._drive.size, np.nan)
        array = np.asarray(value, dtype=float)
        if array.shape != (self._size,):
            raise WrongCommand(key, value, f'a vector of {self._size} elements was expected')
        return array[self._drive.joints]
