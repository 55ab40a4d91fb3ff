"""Settings of tasks whose trainer keeps them in its code and not in the policy's file."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.controllers.policy.metadata import Metadata


@dataclass(frozen=True)
class KnownTask:
    """A task of a trainer.

    Attributes:
        name: trainer, version and task, for people.
        metadata: origin of the metadata that its policies have.
        observations: terms in order.
        scales: scales of terms that are not 1.
        default: default posture by joint name [rad]; joints that are not named are at 0.
        joints: number of its joints.
        action_scale: factor of the actions.
        period: time between two inferences [s].
        gait_steps: inferences in one cycle of the gait.
    """

    name: str
    metadata: str
    observations: tuple[str, ...]
    scales: dict[str, float]
    joints: int
    default: dict[str, float] = field(default_factory=dict)
    action_scale: float = 0.25
    period: float = 0.02
    gait_steps: float = 50.0

    def fits(self, known: Metadata, inputs: int) -> bool:
        """Whether a policy is of this task: same trainer, same robot, same size."""
        return (
            known.origin == self.metadata
            and len(known.joints) == self.joints
            and set(self.default) <= set(known.joints)
            and inputs == 3 * self.joints + 13
        )


# The terms stand in the order of the alphabet of holosoma's own names.
WALKING = (
    'last_action',
    'base_angular_velocity',
    'yaw_rate_command',
    'linear_velocity_command',
    'cos_phase',
    'joint_position',
    'joint_velocity',
    'projected_gravity',
    'sin_phase',
)


def _both(
    values: dict[str, float], sides: tuple[str, str] = ('left', 'right')
) -> dict[str, float]:
    return {f'{side}_{name}': value for side in sides for name, value in values.items()}


G1_POSTURE = {
    **_both(
        {
            'hip_pitch_joint': -0.312,
            'knee_joint': 0.669,
            'ankle_pitch_joint': -0.363,
            'shoulder_pitch_joint': 0.2,
            'elbow_joint': 0.6,
        }
    ),
    'left_shoulder_roll_joint': 0.2,
    'right_shoulder_roll_joint': -0.2,
}
T1_POSTURE = {
    **_both(
        {'Hip_Pitch': -0.2, 'Knee_Pitch': 0.4, 'Ankle_Pitch': -0.25, 'Shoulder_Pitch': 0.2},
        ('Left', 'Right'),
    ),
    'Left_Shoulder_Roll': -1.35,
    'Right_Shoulder_Roll': 1.35,
    'Left_Elbow_Yaw': -0.5,
    'Right_Elbow_Yaw': 0.5,
}

TASKS = (
    KnownTask(
        'holosoma 0.1.3, locomotion of G1',
        'holosoma metadata',
        WALKING,
        {'base_angular_velocity': 0.25, 'joint_velocity': 0.05},
        29,
        G1_POSTURE,
    ),
    KnownTask(
        'holosoma 0.1.3, locomotion of T1',
        'holosoma metadata',
        WALKING,
        {'joint_velocity': 0.1},
        29,
        T1_POSTURE,
    ),
)


def find_task(known: Metadata, inputs: int) -> KnownTask | None:
    """The task that a policy is of; None where none is known.

    Args:
        known: what its files say.
        inputs: number of values that it observes.
    """
    return next((task for task in TASKS if task.fits(known, inputs)), None)
