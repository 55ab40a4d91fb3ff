"""The robot on ROS 2: the node, ros2_control, and the messages in between."""
