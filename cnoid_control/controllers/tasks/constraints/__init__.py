"""What a motion must not exceed."""

from cnoid_control.controllers.tasks.constraints.body_velocity_constraint import (
    BodyVelocityConstraint,
)
from cnoid_control.controllers.tasks.constraints.constraint import (
    Constraint,
    JointConstraint,
    RowConstraint,
)
from cnoid_control.controllers.tasks.constraints.joint_acceleration_constraint import (
    JointAccelerationConstraint,
)
from cnoid_control.controllers.tasks.constraints.joint_position_constraint import (
    JointPositionConstraint,
)
from cnoid_control.controllers.tasks.constraints.joint_velocity_constraint import (
    JointVelocityConstraint,
)
from cnoid_control.controllers.tasks.constraints.self_collision_constraint import (
    SelfCollisionConstraint,
)
from cnoid_control.controllers.tasks.constraints.workspace_constraint import WorkspaceConstraint

__all__ = [
    'BodyVelocityConstraint',
    'Constraint',
    'JointAccelerationConstraint',
    'JointConstraint',
    'JointPositionConstraint',
    'JointVelocityConstraint',
    'RowConstraint',
    'SelfCollisionConstraint',
    'WorkspaceConstraint',
]
