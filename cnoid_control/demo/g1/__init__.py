"""G1 walks, is pushed, swaps its policy, dances, and loses its node: `make demo-g1`."""

__all__: list[str] = []
