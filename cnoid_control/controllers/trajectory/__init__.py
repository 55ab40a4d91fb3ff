"""Following of joint trajectories: interpolation, tolerances, stops and goals."""

from cnoid_control.controllers.trajectory.controller import TrajectoryController

__all__ = ['TrajectoryController']
