"""A reference that moves along a trajectory or comes to a stop, and never jumps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import ruckig

from cnoid_control.controllers.trajectory.spline import TrajectorySpline
from cnoid_control.plugin.mailbox import JointTrajectory


@dataclass(frozen=True)
class MotionLimits:
    """How a reference brakes, and how it passes over to a trajectory that begins elsewhere.

    Attributes:
        stop_acceleration: [rad/s^2] or [m/s^2].
        stop_jerk: [rad/s^3] or [m/s^3].
        blend_time: time to pass over to a trajectory that begins at once [s].
    """

    stop_acceleration: float = 20.0
    stop_jerk: float = 400.0
    blend_time: float = 0.2


class TrajectoryMotion:
    """Position, velocity and acceleration that joints should have, as time goes by.

    The reference is continuous in position and velocity whatever it is told to do.

    Attributes:
        q, dq, ddq: the reference at the last update, shape (joints,).
        end_time: time at which the trajectory ends [s]; -inf where there is none.
    """

    def __init__(self, q: np.ndarray, limits: MotionLimits) -> None:
        """Begin at rest at `q`."""
        self.q = np.array(q, dtype=float)
        self.dq = np.zeros_like(self.q)
        self.ddq = np.zeros_like(self.q)
        self.limits = limits
        self.end_time = -np.inf
        self._time: float | None = None
        self._start_time = 0.0
        self._columns = np.zeros(0, dtype=int)
        self._spline: TrajectorySpline | None = None
        self._blend: TrajectorySpline | None = None
        self._brake: ruckig.Trajectory | None = None
        self._braked = np.zeros(0, dtype=int)
        self._brake_time = 0.0

    def follow(
        self, trajectory: JointTrajectory, columns: np.ndarray, now: float, start_in: float
    ) -> None:
        """Pass over to a trajectory; joints that it leaves out come to a stop.

        A first point that lies ahead is reached from the present reference. A trajectory that
        begins at once, or has begun, is blended into.

        Args:
            trajectory: the points, checked.
            columns: index of the joint of each of its columns.
            now: the present time [s].
            start_in: time until the trajectory's time 0 [s].
        """
        # The present reference is that of the last update.
        begin = now if self._time is None else min(self._time, now)
        times = trajectory.times + start_in + (now - begin)
        positions = trajectory.positions
        velocities = trajectory.velocities if trajectory.velocities.size else None
        accelerations = trajectory.accelerations if trajectory.accelerations.size else None
        q, dq, ddq = self.q[columns], self.dq[columns], self.ddq[columns]
        self._plan_stop(begin, np.setdiff1d(np.arange(len(self.q)), columns))
        self._columns, self._start_time = columns, begin
        if trajectory.times[0] + start_in > 0:
            times = np.concatenate([[0.0], times])
            positions = np.vstack([q, positions])
            if velocities is not None:
                velocities = np.vstack([dq, velocities])
            if accelerations is not None:
                accelerations = np.vstack([ddq, accelerations])
            self._spline = TrajectorySpline(times, positions, velocities, accelerations, dq)
            self._blend = None
            self.end_time = begin + self._spline.end_time
        else:
            self._spline = TrajectorySpline(times, positions, velocities, accelerations)
            self._blend = self._blend_from(q, dq, ddq)
            self.end_time = begin + max(self._spline.end_time, self.limits.blend_time)

    def _blend_from(self, q: np.ndarray, dq: np.ndarray, ddq: np.ndarray) -> TrajectorySpline:
        """Offset that begins as the spline's distance from the given state and fades out."""
        assert self._spline is not None
        there = self._spline.sample(0.0)
        knots = [
            np.vstack([mine - theirs, np.zeros_like(mine)])
            for mine, theirs in zip((q, dq, ddq), there, strict=True)
        ]
        return TrajectorySpline(np.array([0.0, self.limits.blend_time]), *knots)

    def hold(self, q: np.ndarray) -> None:
        """Forget everything and rest at `q`, shape (joints,)."""
        self.finish()
        self._brake = self._time = None
        self.q[:] = q
        self.dq[:] = self.ddq[:] = 0.0

    def brake(self, now: float) -> None:
        """Leave the trajectory and come to a stop."""
        self.finish()
        begin = now if self._time is None else min(self._time, now)
        self._plan_stop(begin, np.arange(len(self.q)))

    def _plan_stop(self, begin: float, columns: np.ndarray) -> None:
        """Bring joints, by index, to a stop from the time `begin` on."""
        self._brake = None
        self._braked = columns
        n = len(columns)
        if n == 0:
            return
        wanted = ruckig.InputParameter(n)
        wanted.control_interface = ruckig.ControlInterface.Velocity
        wanted.synchronization = ruckig.Synchronization.No
        wanted.current_position = self.q[columns].tolist()
        wanted.current_velocity = self.dq[columns].tolist()
        limit = self.limits.stop_acceleration
        wanted.current_acceleration = np.clip(self.ddq[columns], -limit, limit).tolist()
        wanted.target_velocity = [0.0] * n
        wanted.target_acceleration = [0.0] * n
        wanted.max_acceleration = [limit] * n
        wanted.max_jerk = [self.limits.stop_jerk] * n
        plan = ruckig.Trajectory(n)
        result = ruckig.Ruckig(n).calculate(wanted, plan)
        if result not in (ruckig.Result.Working, ruckig.Result.Finished):
            raise ArithmeticError(f'no stop found from velocities {self.dq.tolist()}: {result}')
        self._brake, self._brake_time = plan, begin

    @property
    def rests(self) -> bool:
        """Whether no trajectory is followed and all joints have stopped."""
        return self._spline is None and self._brake is None

    def update(self, now: float) -> None:
        """Move the reference to the time `now` [s]."""
        self._time = now
        if self._brake is not None:
            t = now - self._brake_time
            done = t >= self._brake.duration
            q, dq, ddq = self._brake.at_time(min(t, self._brake.duration))
            self.q[self._braked] = q
            self.dq[self._braked] = 0.0 if done else dq
            self.ddq[self._braked] = 0.0 if done else ddq
            if done:
                self._brake = None
        if self._spline is None:
            return
        at = now - self._start_time
        q, dq, ddq = self._spline.sample(at)
        if self._blend is not None:
            away = self._blend.sample(at)
            q, dq, ddq = q + away[0], dq + away[1], ddq + away[2]
            if at >= self._blend.end_time:
                self._blend = None
        self.q[self._columns], self.dq[self._columns] = q, dq
        self.ddq[self._columns] = ddq

    def finish(self) -> None:
        """Stay where the trajectory ended."""
        self._spline = self._blend = None
        self.end_time = -np.inf
