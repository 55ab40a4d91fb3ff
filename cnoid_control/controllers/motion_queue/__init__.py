"""Motion queue: joint motions that are planned while they run, without ROS and without a robot."""

from cnoid_control.controllers.motion_queue.exceptions import MotionRefused
from cnoid_control.controllers.motion_queue.motion_limits import MotionLimits, make_limits
from cnoid_control.controllers.motion_queue.motion_queue import MotionQueue
from cnoid_control.controllers.motion_queue.motion_state import MotionState

__all__ = ['MotionLimits', 'MotionQueue', 'MotionRefused', 'MotionState', 'make_limits']
