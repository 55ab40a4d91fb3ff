"""The robot on ROS 2: the control node, ros2_control, and a simulated robot."""
