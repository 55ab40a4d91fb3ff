"""Bare runs of SR1 with a push, one after the other, as a process of its own."""

from __future__ import annotations

import sys
import time

DURATION = 3.0


def main() -> None:
    """Get ready, wait for a line, do runs and print how many per second there were.

    Whoever compares starts one per core: what else the computer does then slows both sides alike.
    """
    from cnoid_control.simulation import Simulation

    runs = int(sys.argv[1])
    simulation = Simulation('sr1_pd', record=False)
    simulation.run(DURATION)
    print('ready', flush=True)
    sys.stdin.readline()
    begin = time.perf_counter()
    for _ in range(runs):
        simulation.reset()
        simulation.run(0.5)
        simulation.push('WAIST', [250.0, 0.0, 0.0], 0.1)
        simulation.run(DURATION - 0.5)
    print(runs / (time.perf_counter() - begin), flush=True)


if __name__ == '__main__':
    main()
