"""A queue of motions within velocity, acceleration and jerk limits; one is broken off."""

import numpy as np

from cnoid_control import Simulation

ARM = ['RARM_SHOULDER_P', 'RARM_ELBOW']

if __name__ == '__main__':
    with Simulation('motion_queue', options={'queue': {}, 'finish': False}) as simulation:
        queue = simulation.controller
        queue.set_milestone([-0.5, -1.0], joints=ARM)  # now, as fast as allowed
        queue.add_milestone([0.2, -1.5], joints=ARM)  # then
        queue.add_wait(0.3)
        queue.add_cubic([0.0, -1.2], [0.0, 0.0], 1.0, joints=ARM)  # then, in one second
        print(f'the queue lasts {queue.remaining_time:.2f} s')
        simulation.run(0.5)
        queue.brake()  # stops, and forgets the rest
        simulation.run(1.0)
        print(f'broken off: {queue.remaining_time:.2f} s remain')
        queue.set_feed_rate(0.5)  # at half speed from now on
        queue.set_milestone([0.1745, -1.5708], joints=ARM)
        while queue.remaining_time > 0.0:
            simulation.step()
        simulation.run(0.5)
        ids = simulation.robot.joint_ids(ARM)
        end, recorded = simulation.robot.q[ids], simulation.recorded
    speed = np.abs(np.diff(recorded.q_target[:, ids], axis=0)).max() / simulation.time_step
    print(f'it ends at {end.round(3)}; the fastest joint was commanded {speed:.2f} rad/s')
