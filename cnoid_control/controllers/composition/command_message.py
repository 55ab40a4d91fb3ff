"""What a command message means to joint actuators."""

from __future__ import annotations

import numpy as np

from cnoid_control.controllers.composition.base_controller import Message
from cnoid_control.controllers.composition.exceptions import CompositionError
from cnoid_control.controllers.drive import JointDrive
from cnoid_control.controllers.drive.laws import GAINS

# Keys of a message that joints follow.
COMMANDS = ('qcmd', 'dqcmd', 'torquecmd', 'tcmd', *GAINS)


class CommandInterpreter:
    """Turns command messages into what each joint of a drive does.

    Joint by joint: with `qcmd` it is servoed (to velocity `dqcmd` or 0, with `torquecmd` or 0
    added), else with `dqcmd` it runs at that velocity for the time `tcmd`, else with `torquecmd`
    it gets that torque, else the last command stays in force. A torque may come with `qref`, the
    position that it is for, which logs and summaries show.
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
            CompositionError: a vector has the wrong size, or `dqcmd` comes without `tcmd`.
        """
        self._end_velocities(time)
        if not message:
            return
        q = self._vector('qcmd', message)
        dq = self._vector('dqcmd', message)
        u = self._vector('torquecmd', message)
        servoed = _given(q, self._drive.size)
        moved = _given(dq, self._drive.size) & ~servoed
        pushed = _given(u, self._drive.size) & ~servoed & ~moved
        if q is not None and servoed.any():
            speed, torque = (0.0 if v is None else _or_zero(v[servoed]) for v in (dq, u))
            self._drive.set_pid(np.flatnonzero(servoed), q[servoed], speed, torque)
            self._until[servoed] = np.inf
        if dq is not None and moved.any():
            duration = message.get('tcmd')
            if duration is None:
                raise _wrong_command('tcmd', None, 'dqcmd without qcmd needs the time it is for')
            self._drive.set_velocity(np.flatnonzero(moved), dq[moved])
            self._until[moved] = time + float(np.min(duration))
        if u is not None and pushed.any():
            references = self._vector('qref', message)
            aims = np.nan if references is None else references[pushed]
            self._drive.set_torque(np.flatnonzero(pushed), u[pushed], aims)
            self._until[pushed] = np.inf
        for row, key in enumerate(GAINS):
            gain, given = self._default_gains[row], self._vector(key, message)
            self._drive.gains[row] = gain if given is None else _merged(gain, given)

    def _end_velocities(self, time: float) -> None:
        over = self._until <= time + 1e-9
        if over.any():
            places = np.flatnonzero(over)
            self._drive.set_pid(places, self._drive.q[places])
            self._until[over] = np.inf

    def _vector(self, key: str, message: Message) -> np.ndarray | None:
        """Elements of the driven joints, NaN where nothing is said of a joint; None for none."""
        value = message.get(key)
        if value is None:
            return None
        array = np.asarray(value, dtype=float)
        if array.shape != (self._size,):
            raise _wrong_command(key, value, f'a vector of {self._size} elements was expected')
        return array[self._drive.joints]


def _given(vector: np.ndarray | None, size: int) -> np.ndarray:
    """Joints of which a vector says something, shape (n,)."""
    return np.zeros(size, dtype=bool) if vector is None else ~np.isnan(vector)


def _or_zero(vector: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(vector), 0.0, vector)


def _merged(usual: np.ndarray, given: np.ndarray) -> np.ndarray:
    return np.where(np.isnan(given), usual, given)


def _wrong_command(key: str, value: object, expected: str) -> CompositionError:
    """The error about a command message that says nothing that actuators understand."""
    return CompositionError(f'{key} is {value!r}; {expected}')
