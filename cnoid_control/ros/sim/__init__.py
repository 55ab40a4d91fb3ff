"""The simulated robot as a ROS node."""
