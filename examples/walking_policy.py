"""A policy walks by velocity commands: a network in an ONNX file, on a robot with four legs."""

import numpy as np

from cnoid_control import Simulation
from cnoid_control.plugin.mailbox import Twist

COMMANDS = {'forward': [0.4, 0.0, 0.0], 'left': [0.0, 0.2, 0.0], 'turn': [0.0, 0.0, 0.6]}

if __name__ == '__main__':
    with Simulation('trotter.urdf', 'policy', options={'file': 'trotter_walk'}) as simulation:
        simulation.run(1.0)
        commands = simulation.mailbox('cmd_vel')
        for name, (vx, vy, turn) in COMMANDS.items():
            begin = len(simulation.recorded)
            for _ in range(30):
                # A command counts for half a second: who sends no more, stops.
                commands.post(
                    Twist(linear=np.array([vx, vy, 0.0]), angular=np.array([0.0, 0.0, turn]))
                )
                simulation.run(0.1)
            half = slice((begin + len(simulation.recorded)) // 2, None)
            x, y, z, w = simulation.recorded.root_orientation[half].T
            yaw = np.arctan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
            v = simulation.recorded.root_velocity[half]
            ahead = (np.cos(yaw) * v[:, 0] + np.sin(yaw) * v[:, 1]).mean()
            left = (np.cos(yaw) * v[:, 1] - np.sin(yaw) * v[:, 0]).mean()
            rate = simulation.recorded.root_angular_velocity[half, 2].mean()
            print(f'{name}: {ahead:.2f} m/s ahead, {left:.2f} m/s left, {rate:.2f} rad/s')
        simulation.run(1.5)
        print(f'it stands: {not simulation.summary()["fell"]}')
