"""Let another controller take over while the robot runs, and one that fails not."""

import numpy as np

from cnoid_control import CnoidControlError, SimpleController, Simulation


class Broken(SimpleController):
    """Does not want to begin."""

    def initialize(self, io: object) -> bool:
        """Refuse."""
        return False


if __name__ == '__main__':
    with Simulation('sr1_pd') as simulation:
        simulation.run(1.0)
        simulation.swap('sr1_walk', blend_time=0.3)
        print('walks now:', type(simulation.controller).__name__)
        simulation.run(4.0)
        try:
            simulation.swap(Broken)
        except CnoidControlError as error:
            print('refused:', str(error).splitlines()[0])
        simulation.run(1.0)
        print('still walks:', type(simulation.controller).__name__)
        path = simulation.recorded.root_position
        steps = np.abs(np.diff(simulation.recorded.q, axis=0)).max()
    print(f'SR1 went {path[-1, 0] - path[0, 0]:.2f} m')
    print(f'no joint moved by more than {steps:.4f} rad in a tick')
