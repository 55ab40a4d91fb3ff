"""Observations that were recorded elsewhere, and the states in which that was done."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pinocchio as pin

from cnoid_control.controllers.policy.base import find_imu
from cnoid_control.controllers.policy.controller import PolicyController
from cnoid_control.exceptions import CnoidControlError, choices

NAMES = ('obs', 'observation', 'observations', 'actor_obs')
# What a file may say of the state: number of values; 0 for one per joint of the policy.
STATE = {
    'joint_pos': 0,
    'joint_vel': 0,
    'last_action': 0,
    'base_pos': 3,
    'base_quat': 4,
    'base_lin_vel': 3,
    'base_ang_vel': 3,
    'command': 3,
}


class RecordedObservations:
    """Vectors of a file, one per row.

    Attributes:
        vectors: the observations, shape (rows, size).
        state: what the file says of the states in which they were recorded, by name, each of
            shape (rows, ...): `joint_pos`, `joint_vel` and `last_action` in the order of the
            network, `base_pos` [m], `base_quat` (w first), `base_lin_vel` [m/s] and
            `base_ang_vel` [rad/s] in the axes of the base, `command` (vx, vy, yaw rate).
    """

    def __init__(self, file: Path, key: str = '') -> None:
        """Read a .npz, .npy or .csv file.

        Args:
            file: the file.
            key: array of a .npz that has the observations; `obs` or the only one where empty.

        Raises:
            CnoidControlError: it cannot be read, or has no observations.
        """
        self._file = file
        arrays = _read(file)
        name = key or next((name for name in NAMES if name in arrays), '')
        if not name and len(arrays) == 1:
            name = next(iter(arrays))
        if name not in arrays:
            raise CnoidControlError(
                f'{file} has no array {name or NAMES[0]!r} with observations; {choices(arrays)}'
            )
        self.vectors = self._rows(name, arrays[name])
        self.state = {
            name: self._rows(name, arrays[name])
            for name in STATE
            if name in arrays and name != key
        }
        for name, rows in self.state.items():
            if len(rows) != len(self.vectors):
                raise CnoidControlError(
                    f'{file}: {name} has {len(rows)} rows, and the observations have '
                    f'{len(self.vectors)}'
                )

    def _rows(self, name: str, values: np.ndarray) -> np.ndarray:
        try:
            numbers = np.asarray(values, dtype=float)
        except (TypeError, ValueError) as error:
            raise CnoidControlError(f'{self._file}: {name} are no numbers: {error}') from error
        if numbers.ndim == 0:
            raise CnoidControlError(f'{self._file}: {name} is one number, and no vector')
        # A dimension of 1 is the number of robots.
        rows = numbers.reshape(1, -1) if numbers.ndim == 1 else numbers
        return rows.reshape(len(rows), -1)

    def vector(self, row: int) -> np.ndarray:
        """One observation.

        Raises:
            CnoidControlError: there is no such row.
        """
        if not 0 <= row < len(self.vectors):
            raise CnoidControlError(
                f'{self._file} has no row {row}: it has {len(self.vectors)}, from 0'
            )
        return self.vectors[row]

    def repeat(self, policy: PolicyController, row: int) -> None:
        """Have a policy observe the recorded states up to a row.

        Raises:
            CnoidControlError: a state has another number of values than the robot.
        """
        for name, rows in self.state.items():
            wanted = STATE[name] or policy.joints.size
            if rows.shape[1] != wanted:
                raise CnoidControlError(
                    f'{self._file}: {name} has {rows.shape[1]} values, and {wanted} are needed'
                )
        base = [name for name in self.state if name.startswith('base_')]
        if base and policy.io.parameters.base == 'estimator':
            raise CnoidControlError(
                f'{self._file} has {", ".join(base)}, which an estimator cannot be told: compare '
                'with policy.base: hardware'
            )
        policy.start_again()
        for number in range(row + 1):
            _put(policy, {name: rows[number] for name, rows in self.state.items()})
            command = self.state.get('command')
            policy.observation.tick()
            policy.observe(
                number * policy.period, np.zeros(3) if command is None else command[number]
            )
            policy.situation.time_step += 1


def _put(policy: PolicyController, state: Mapping[str, np.ndarray]) -> None:
    body, situation = policy.body, policy.situation
    root = body.root_link
    if 'joint_pos' in state:
        body.q[policy.joints] = state['joint_pos']
    if 'joint_vel' in state:
        body.dq[policy.joints] = state['joint_vel']
    if 'last_action' in state:
        situation.action[:] = state['last_action']
    if 'base_pos' in state:
        root.p = state['base_pos']
    if 'base_quat' in state:
        root.R = pin.Quaternion(*state['base_quat']).normalized().matrix()
    if 'base_lin_vel' in state:
        root.v = root.R @ state['base_lin_vel']
    if 'base_ang_vel' in state:
        root.w = root.R @ state['base_ang_vel']
        imu = policy.io.parameters.imu
        if imu:
            device = find_imu(policy.io, imu)
            device.w = device.R_local.T @ state['base_ang_vel']
    body.calc_forward_kinematics(velocity=True)


def _read(file: Path) -> dict[str, np.ndarray]:
    suffix = file.suffix.lower()
    try:
        if suffix == '.npz':
            with np.load(file, allow_pickle=False) as content:
                return {name: content[name] for name in content.files}
        if suffix == '.npy':
            return {NAMES[0]: np.load(file, allow_pickle=False)}
        if suffix == '.csv':
            return {NAMES[0]: _read_csv(file)}
    except (OSError, ValueError, zipfile.BadZipFile) as error:
        raise CnoidControlError(f'{file} cannot be read: {error}') from error
    raise CnoidControlError(f'{file}: a .npz, .npy or .csv file was expected')


def _read_csv(file: Path) -> np.ndarray:
    """Rows of numbers; a first line of names is left out."""
    lines = [line for line in file.read_text(encoding='utf-8').splitlines() if line.strip()]
    rows = [line.replace(';', ',').split(',') for line in lines]
    try:
        [float(entry) for entry in rows[0]]
    except ValueError:
        rows = rows[1:]
    except IndexError:
        raise ValueError('it is empty') from None
    return np.array([[float(entry) for entry in row] for row in rows])
