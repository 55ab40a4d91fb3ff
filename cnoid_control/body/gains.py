"""Joint gains for a robot that nobody has tuned, and the inertia that they rest on.

A controller reads the state every period, and its command acts one period later. For one joint of
inertia I with the efforts -kp q - kd dq this loop is

    z^3 - 2 z^2 + (1 + a + b) z - a = 0,    a = kd dt / I,    b = kp dt^2 / I,

which is stable and well damped for a = 0.33 and b up to 0.08. Joints that are coupled may be
faster than each of them alone, so I is made small enough for every mode of the robot: with these
inertias on the diagonal, no eigenvalue of (inverse mass matrix) x diag(I) exceeds 1. A floating
robot counts as floating: on the ground it is only slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from threadpoolctl import threadpool_limits

from cnoid_control.body.body import Body
from cnoid_control.body.kinematic_tree import ROOT_NV
from cnoid_control.body.standing import ancestors, is_moving, limbs_of, touching_links

# The most that a and b above may be.
DAMPING_STEP = 0.33
STIFFNESS_STEP = 0.0625

# No joint needs to be faster than this [rad/s], however short the period is.
MAX_FREQUENCY = 250.0

# Error at which the whole effort limit is given [rad] or [m].
SATURATION_ERROR = {'revolute': 0.05, 'prismatic': 0.01}

# Least inertia that a joint of the physics has [kg m^2] or [kg].
LEAST_INERTIA = {'revolute': 1e-5, 'prismatic': 1e-3}

# Stiffness of a leg's joint, relative to what keeps the robot upright on it alone.
LEG_MARGIN = 4.0

GRAVITY = 9.80665


@dataclass(frozen=True)
class JointGains:
    """Gains of all joints of a robot, by joint id, shape (num_joints,) each.

    Attributes:
        kp: position gains [N m/rad] or [N/m].
        kd: velocity gains [N m s/rad] or [N s/m].
        kp_limit, kd_limit: the most that is stable at the period.
        inertia: what moves with each joint while all others are held [kg m^2] or [kg].
        own: whether kp is that of the model's own actuator.
    """

    kp: np.ndarray
    kd: np.ndarray
    kp_limit: np.ndarray
    kd_limit: np.ndarray
    inertia: np.ndarray
    own: np.ndarray

    def damping_of(self, kp: np.ndarray) -> np.ndarray:
        """Velocity gains that damp position gains critically, as far as that is stable."""
        return np.minimum(2.0 * np.sqrt(kp * self.inertia), self.kd_limit)


def joint_gains(body: Body, time_step: float) -> JointGains:
    """Gains with which a robot holds its present posture by efforts.

    Position gains are the model's own where it has actuators. Elsewhere they give the whole
    effort limit (the robot's weight at the distance of its centre of mass where it has none) at
    an error of 0.05 rad or 1 cm, but never more than is stable. Velocity gains damp each joint
    critically, as far as that is stable.

    Args:
        body: the robot in the posture that counts, with forward kinematics done.
        time_step: period of the controller [s].
    """
    inertia, heavy = seen_inertias(body)
    kp_limit = np.minimum(STIFFNESS_STEP / time_step**2, MAX_FREQUENCY**2) * inertia
    kd_limit = DAMPING_STEP / time_step * inertia
    joints = [joint.description for joint in body.joints]
    own = np.array([link.kp > 0.0 for link in joints], dtype=bool)
    kp = np.where(own, [link.kp for link in joints], _stiffness(body))
    kp = np.minimum(kp, kp_limit)
    gains = JointGains(kp, np.zeros_like(kp), kp_limit, kd_limit, heavy, own)
    own_kd = np.array([link.kd for link in joints])
    kd = np.where(own_kd > 0.0, np.minimum(own_kd, kd_limit), gains.damping_of(kp))
    gains.kd[:] = kd
    return gains


def _stiffness(body: Body) -> np.ndarray:
    """Position gains that give the whole effort at the saturation error, shape (num_joints,)."""
    center = body.calc_center_of_mass()
    kp = np.zeros(body.num_joints)
    for i, joint in enumerate(body.joints):
        if not joint.joint_type.has_displacement:
            continue
        kind = joint.joint_type.value
        effort = min(-body.u_lower[i], body.u_upper[i])
        if not 0.0 < effort < np.inf:
            weight = GRAVITY * body.mass
            effort = weight * np.linalg.norm(joint.p - center) if kind == 'revolute' else weight
        kp[i] = effort / SATURATION_ERROR[kind]
    return kp


# With one thread: others would wait busily for the next matrix for 0.1 s, when the loop has begun.
@threadpool_limits.wrap(limits=1, user_api='blas')
def seen_inertias(body: Body) -> tuple[np.ndarray, np.ndarray]:
    """Inertias that joints see in the present posture [kg m^2] or [kg].

    Returns:
        What gains may rest on: small enough for every mode of the robot, shape (num_joints,);
        what moves with each joint while all others are held, likewise.
    """
    tree, count = body.tree, body.num_joints
    # Joints that follow no other one: those with an id, then virtual ones that move freely.
    follows = np.zeros(tree.num_slots, dtype=bool)
    follows[tree.mimic_slots] = True
    followed = np.flatnonzero(~follows)
    slot_map = np.eye(tree.num_slots)
    slot_map[tree.mimic_slots] = 0.0
    slot_map[tree.mimic_slots, tree.mimicked_slots] = tree.mimic_multipliers
    joint_map = slot_map[tree.slots_in_pin_order][:, followed]
    matrix = pin.crba(body.model, pin.Data(body.model), body.pin_q())
    matrix = np.triu(matrix) + np.triu(matrix, 1).T
    expand = np.zeros((ROOT_NV + len(tree.slots_in_pin_order), ROOT_NV + followed.size))
    expand[:ROOT_NV, :ROOT_NV] = np.eye(ROOT_NV)
    expand[ROOT_NV:, ROOT_NV:] = joint_map
    reduced = expand.T @ matrix @ expand
    if body.is_fixed_root:
        reduced = reduced[ROOT_NV:, ROOT_NV:]
    first = 0 if body.is_fixed_root else ROOT_NV
    rows = first + np.arange(followed.size)
    ids = followed < count
    # Holes in the ids have no inertia, and the inverse must exist.
    holes = np.array([not body.all_joints[slot].name for slot in followed], dtype=bool)
    reduced[rows[holes], rows[holes]] = 1.0
    heavy, light = np.ones(count), np.ones(count)
    heavy[followed[ids]] = reduced[rows[ids], rows[ids]]
    inverse = np.linalg.inv(reduced + 1e-12 * np.eye(len(reduced)))[np.ix_(rows[ids], rows[ids])]
    light[followed[ids]] = _below_all_modes(inverse)
    return np.minimum(light, heavy), heavy


def _below_all_modes(mobility: np.ndarray) -> np.ndarray:
    """Diagonal of a matrix D with no eigenvalue of mobility x D above 1, as large as it gets."""
    inertia = 1.0 / np.maximum(np.diag(mobility), 1e-12)
    if not inertia.size:
        return inertia
    largest = 1.0
    for _ in range(100):
        root = np.sqrt(inertia)
        values, vectors = np.linalg.eigh(root[:, None] * mobility * root)
        largest = float(values[-1])
        if largest <= 1.01:
            break
        # Who takes part most in the fastest mode gives most.
        share = vectors[:, -1] ** 2
        inertia = inertia * largest ** -(share / share.max())
    return inertia / max(largest, 1.0)


def rotors_needed(body: Body, time_step: float) -> np.ndarray:
    """Rotor inertia that joints lack to be held at a period [kg m^2] or [kg], by joint id.

    Joints need it that would have next to no inertia, for there are massless links behind them;
    and joints of the legs of a floating robot whose model knows no rotors: a foot is light, and
    what it has to hold is the whole robot. Gains that are stable while the foot is in the air
    must be four times what keeps the robot upright on that joint alone.

    Args:
        body: the robot in its posture, with forward kinematics done.
        time_step: period of the controller [s].
    """
    needed = np.zeros(body.num_joints)
    if not body.num_joints:
        return needed
    inertia, heavy = seen_inertias(body)
    for i, joint in enumerate(body.joints):
        least = LEAST_INERTIA.get(joint.joint_type.value, 0.0)
        needed[i] = max(0.0, least - heavy[i])
    if body.is_fixed_root or any(joint.description.rotor_inertia for joint in body.joints):
        return needed
    legs = limbs_of([link for link in touching_links(body) if is_moving(link)])
    weight, center = GRAVITY * body.mass, body.calc_center_of_mass()
    for joint in {above.joint_id: above for leg in legs for above in ancestors(leg)}.values():
        if joint.joint_id < 0 or joint.joint_type.value != 'revolute':
            continue
        stiffness = LEG_MARGIN * weight * np.linalg.norm(joint.p - center) / max(len(legs), 1)
        least = stiffness / min(STIFFNESS_STEP / time_step**2, MAX_FREQUENCY**2)
        i = joint.joint_id
        needed[i] = max(needed[i], least - inertia[i])
    return needed
