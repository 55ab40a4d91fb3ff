"""Two robots in one world: they stand back to back, and one of them is pushed into the other."""

from cnoid_control import Simulation

if __name__ == '__main__':
    robots = {
        'front': {'config': 'sr1_pd', 'position': [0.0, 0.0]},
        'back': {'config': 'sr1_pd', 'position': [-0.45, 0.0]},
    }
    # Every shape collides: in the configuration only the feet do.
    changes = {'hardware.mujoco.collision': []}
    with Simulation(robots=robots, changes=changes) as simulation:
        simulation.run(0.5)
        simulation.robots['back'].push('WAIST', [1500.0, 0.0, 0.0], duration=0.2)
        simulation.run(1.5)
    for name, robot in simulation.robots.items():
        path = robot.recorded.root_position
        print(f'{name}: moved by {path[-1, 0] - path[0, 0]:+.3f} m, fell: {robot.monitor.fell}')
