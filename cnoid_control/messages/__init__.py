"""ROS 2 messages as bytes: one codec for the node, the simulated robot and the log."""
