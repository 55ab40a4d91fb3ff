"""Robots on the other end of the loop: the protocol and its members without ROS."""
