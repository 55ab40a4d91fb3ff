"""Motion queue: joint motions that are planned while they run, without ROS and without a robot."""

from cnoid_control.controllers.motion_queue.exceptions import MotionRefused
from cnoid_control.controllers.motion_queue.limits import MotionLimits, MotionState, make_limits
from cnoid_control.controllers.motion_queue.queue import MotionQueue

__all__ = ['MotionLimits', 'MotionQueue', 'MotionRefused', 'MotionState', 'make_limits']
