"""Log files: MCAP with ROS 2 messages, written in bulk and read back bit by bit."""
