"""A robot behind ros2_control."""
