"""SR1 stands up in simulation, held by the ROS node in a process of its own: `make demo`."""
