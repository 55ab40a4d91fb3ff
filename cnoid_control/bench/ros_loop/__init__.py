"""A control loop between two processes, by three kinds of controllers on the same robot."""

__all__: list[str] = []
