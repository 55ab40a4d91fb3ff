"""SR1 stands in simulation, held by the ROS node in a process of its own: `make demo`."""

__all__: list[str] = []
