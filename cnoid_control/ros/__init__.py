"""The robot on ROS 2: the node, ros2_control, and the messages in between."""

from cnoid_control.ros.transport import avoid_shared_memory

# Here, because it must come before any context is made, and every process of this room passes by.
avoid_shared_memory()
