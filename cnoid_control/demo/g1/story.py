"""What G1 is to do: its configuration, and when what happens."""

from __future__ import annotations

from typing import Any

from cnoid_control.controllers.policy.known_tasks import G1_POSTURE, TASKS

# Robot and policies, as `cnoid_control get` names them.
ROBOT, PPO, SAC, DANCE = 'g1_holosoma', 'g1_walk_ppo', 'g1_walk_sac', 'g1_dance_sac'
NEEDED = (ROBOT, PPO, SAC, DANCE)

RATE = 500.0
# Commanded velocity forward [m/s].
SPEED = 0.5
# The push: link, force in world axes [N], duration [s].
PUSHED, FORCE, PUSH_TIME = 'pelvis', [0.0, 50.0, 0.0], 0.1

# Times at which something begins [s]: the first policy stands and walks, the push, the second
# policy takes over and later stops, the dance.
WALK, PUSH, SWAP, STOP, DANCE_BEGINS = 2.0, 5.0, 8.0, 12.0, 14.0
# Inferences of the dance, one per PERIOD [s].
PERIOD, DANCE_STEPS = 0.02, 6774
# After the dance: time of standing, and of the walk that follows [s].
STAND_AGAIN, WALK_AGAIN = WALK, 4.0

POSTURE = G1_POSTURE
G1_TASK = TASKS[0]
# As the walking policies were trained.
WALKING: dict[str, Any] = {
    'observations': list(G1_TASK.observations),
    'terms': {name: {'scale': scale} for name, scale in G1_TASK.scales.items()},
    'action': {'scale': G1_TASK.action_scale},
    'posture': POSTURE,
    'actuators': 'hardware',
    'period': PERIOD,
}

DANCING: dict[str, Any] = {
    'file': DANCE,
    'inputs': {'time_step': 'time_step'},
    'observations': [
        'last_action',
        'base_angular_velocity',
        'joint_position',
        'joint_velocity',
        'reference_q',
        'reference_dq',
        'reference_axes',
    ],
    'terms': {
        'reference_q': {'source': 'output:joint_pos'},
        'reference_dq': {'source': 'output:joint_vel'},
        'reference_axes': {'source': 'orientation:ref_quat_xyzw', 'link': 'torso_link'},
    },
    'action': {'output': 'actions'},
    'posture': POSTURE,
    'actuators': 'hardware',
    'period': PERIOD,
}


def configuration(dance_steps: int = DANCE_STEPS) -> dict[str, Any]:
    """Configuration of the whole story; `dance_steps` is the length of the dance."""
    forward = [SPEED, 0.0, 0.0]
    return {
        'robot': {'model': ROBOT, 'posture': POSTURE},
        'rate': RATE,
        'controller': 'walk_ppo',
        'standby': {
            'walk_ppo': {'type': 'policy'},
            'walk_sac': {'type': 'policy'},
            'dance': {'type': 'policy', 'then': 'walk_ppo'},
        },
        'walk_ppo': {
            **WALKING,
            'file': PPO,
            'velocity': {'script': {'walk': {'time': WALK, 'velocity': forward}}},
        },
        'walk_sac': {
            **WALKING,
            'file': SAC,
            'velocity': {
                'script': {
                    'walk': {'time': 0.0, 'velocity': forward},
                    'stop': {'time': STOP - SWAP, 'velocity': [0.0, 0.0, 0.0]},
                }
            },
        },
        'dance': {**DANCING, 'steps': dance_steps},
        'hardware': {
            'type': 'mujoco',
            'ros2_control': {'odometry': 'cnoid_control_mujoco/root'},
        },
    }
