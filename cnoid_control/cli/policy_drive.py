"""Gains of a policy whose configuration is written: whose they are, and who computes PD."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from cnoid_control.cli.policy_draft import Draft

if TYPE_CHECKING:
    from cnoid_control.body import Body
    from cnoid_control.controllers.policy.metadata import Metadata

# Control rates where none is given; the next whole multiple of the policy's own [Hz].
RATES = (500.0, 1000.0)
# Largest gain for PD in a controller, as a multiple of what is well damped; from 3 on it is not
# stable.
STIFFEST = 2.0


def fill_gains(draft: Draft, known: Metadata, body: Body, joints: list[str]) -> None:
    """Gains of the policy, else of the model's actuators, else of whom it may concern."""
    own = {joint.joint_name: joint.description for joint in body.joints if joint.name}
    wanted = joints or list(own)
    for key, said in (('kp', known.kp), ('kd', known.kd)):
        missing = [name for name in wanted if name not in said]
        if not missing or draft.has(key) or draft.has(f'{key}_of'):
            continue
        lacking = [name for name in missing if getattr(own[name], key) <= 0.0]
        damped = key == 'kd' and all(own[name].kp > 0.0 for name in lacking)
        if lacking and not damped:
            unit = 'N m/rad' if key == 'kp' else 'N m s/rad'
            draft.ask(
                key,
                f'gain [{unit}] of all joints, or a list in the order of `joints`, or {key}_of by '
                f'joint name: {", ".join(lacking)}',
            )
        else:
            draft.said.append(f"{key} is that of the model's actuators; no file says another one")


def choose_drive(
    draft: Draft, known: Metadata, body: Body, rate: float | None, period: float
) -> float:
    """Have PD computed here where that is stable, at a rate for it, else by the joints.

    Returns:
        The rate [Hz].
    """
    import numpy as np

    from cnoid_control.body.gains import joint_gains

    rates = [rate] if rate is not None else [_multiple(own, period) for own in RATES]
    _warn_of_damping(draft, known, body)
    if draft.has('actuators'):
        return rates[0]
    kp, kd = (_gains(draft, known, body, key) for key in ('kp', 'kd'))
    body.calc_forward_kinematics()
    for own in rates:
        limits = joint_gains(body, 1.0 / own)
        share = max(np.max(kp / limits.kp_limit), np.max(kd / limits.kd_limit))
        if share <= STIFFEST:
            draft.put(
                'actuators',
                'controller',
                'PD here, with efforts as commands; `hardware` leaves it to the joints.',
            )
            return own
    draft.put(
        'actuators',
        'hardware',
        'PD at the joints, as motors and simulators have it: computed here, at this rate, the '
        'gains would be too stiff.',
    )
    if body.description.mjcf and not _damps_implicitly(body.description.mjcf):
        draft.said.append(
            "the model's integrator is Euler, with which gains that are stiff for its light "
            'joints are not stable; <option integrator="implicitfast"/> in the model damps them '
            'implicitly'
        )
    return rates[0]


def _damps_implicitly(model: str) -> bool:
    """Whether physics takes the damping of actuators into account beforehand."""
    import mujoco

    try:
        integrator = mujoco.MjSpec.from_file(model).option.integrator
    except ValueError:
        # A file that only the loader of models can read, such as one without its meshes.
        return True
    euler, runge_kutta = mujoco.mjtIntegrator.mjINT_EULER, mujoco.mjtIntegrator.mjINT_RK4
    return integrator not in (euler, runge_kutta)


def _gains(draft: Draft, known: Metadata, body: Body, key: str) -> Any:
    """Gains that the controller will have, as far as they are known, shape (num_joints,)."""
    import numpy as np

    one = draft.values.get(key)
    said = {**getattr(known, key)}
    if isinstance(one, list):
        said |= dict(zip(draft.values.get('joints') or known.joints, one, strict=False))
    said |= draft.values.get(f'{key}_of', {})
    gains = []
    for joint in body.joints:
        own = getattr(joint.description, key)
        gains.append(one if isinstance(one, (int, float)) else said.get(joint.joint_name, own))
    return np.array(gains, dtype=float)


def _warn_of_damping(draft: Draft, known: Metadata, body: Body) -> None:
    """Say where the model damps joints about as much as the gains that are for them."""
    kd = _gains(draft, known, body, 'kd')
    damped = [
        f'{joint.joint_name} {joint.description.damping:g}'
        for joint, gain in zip(body.joints, kd, strict=True)
        if 0.0 < gain <= 2.0 * joint.description.damping
    ]
    if damped:
        draft.said.append(
            'the model damps joints in addition to kd, perhaps in its place [N m s/rad]: '
            f'{", ".join(damped)}'
        )


def _multiple(rate: float, period: float) -> float:
    """The next multiple of the policy's own rate [Hz]."""
    return math.ceil(rate * period - 1e-9) / period if period > 0.0 else rate
