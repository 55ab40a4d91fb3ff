"""Controllers that follow each other: an arm lifts, waits for a message, and comes back."""

from cnoid_control import Simulation
from cnoid_control.plugin.mailbox import Trigger

DRIVE = {'actuators': 'controller', 'finish': True}
LIFTED = {'q': [0.0, 0.9], 'joints': ['joint2', 'joint4']}
BACK = {'q': [0.3, 1.5], 'joints': ['joint2', 'joint4']}
STATES = {
    'lift': {
        'controller': 'motion_queue',
        'options': {**DRIVE, 'queue': {'up': LIFTED}},
        'next': {'wait': {'finished': True}},
    },
    'wait': {'controller': 'pd', 'next': {'back': {'message': 'go'}}},
    'back': {
        'controller': 'motion_queue',
        'options': {**DRIVE, 'queue': {'down': BACK}},
        'next': {'end': {'finished': True}},
    },
}

if __name__ == '__main__':
    options = {'actuators': 'controller', 'start': 'lift', 'states': STATES}
    with Simulation('pd', 'state_machine', options=options) as simulation:
        simulation.run(3.0)
        print(
            f'after 3 s: {simulation.controller.composition.current}, '
            f'joint2 at {simulation.robot.q[1]:.2f} rad'
        )
        simulation.mailbox('go').post(Trigger())  # on ROS: the service ~/go
        summary = simulation.run(5.0)
    print(
        f'{summary["exit"]} after {summary["duration"]:.2f} s, '
        f'joint2 at {simulation.robot.q[1]:.2f} rad'
    )
