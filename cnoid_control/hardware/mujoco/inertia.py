"""Masses and inertias of links as MuJoCo wants them."""

from __future__ import annotations

import logging

import mujoco
import numpy as np

from cnoid_control.body.description import LinkDescription
from cnoid_control.hardware.mujoco.geometry import quaternion

# Least mass [kg] and moment [kg m^2] of a link that moves: MuJoCo refuses those without any,
# such as the links between joints whose axes meet.
LEAST_MASS, LEAST_MOMENT = 1e-9, 1e-12

# Share of a moment by which rounding may have made it too large.
ROUNDING = 1e-6

logger = logging.getLogger(__name__)


def set_inertia(body: mujoco.MjsBody, link: LinkDescription, carries: bool) -> None:
    """Give a MuJoCo body the mass and the inertia of a link.

    MuJoCo takes only what a solid can have. Where the model says otherwise, as models by hand do,
    the moments are raised until they fit, with a warning where that is more than rounding.

    Args:
        body: the body.
        link: the link.
        carries: whether a joint moves the link; MuJoCo then asks for a mass.
    """
    mass = max(link.mass, LEAST_MASS) if carries else link.mass
    if mass == 0.0:
        # MuJoCo's rays miss parts of turned bodies without mass.
        body.explicitinertial = True
        body.mass, body.inertia = LEAST_MASS, [LEAST_MOMENT] * 3
        body.ipos, body.iquat = np.zeros(3), [1.0, 0.0, 0.0, 0.0]
        return
    moments, axes = np.linalg.eigh(link.inertia)
    if np.linalg.det(axes) < 0.0:
        axes[:, 0] = -axes[:, 0]
    possible = np.maximum(moments, LEAST_MOMENT if carries else 0.0)
    # They ascend: the largest must not exceed the sum of the others.
    possible[:2] += max(0.0, possible[2] - possible[0] - possible[1]) / 2.0
    if np.abs(possible - moments).max() > ROUNDING * possible[2] + LEAST_MOMENT:
        logger.warning(
            'link %r has moments of inertia %s kg m^2, which no solid has; %s are simulated',
            link.name,
            *(' '.join(f'{value:.3g}' for value in three) for three in (moments, possible)),
        )
    body.explicitinertial = True
    body.mass = mass
    body.ipos = link.center_of_mass
    body.iquat = quaternion(axes)
    body.inertia = possible
