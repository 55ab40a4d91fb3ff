"""The initial state of a robot as text that gives back the same bits."""

from __future__ import annotations

import json

import numpy as np

from cnoid_control.body import Body
from cnoid_control.body.body import BodyState

ROOT_ARRAYS = ('root_q', 'root_motion', 'root_acceleration', 'external_wrenches')


def state_to_text(body: Body) -> str:
    """JSON of a body's state."""
    state = body.save_state()
    values = {name: array.tolist() for name, array in state.joints.items()}
    values |= {name: getattr(state, name).tolist() for name in ROOT_ARRAYS}
    return json.dumps(values)


def restore_state_text(body: Body, text: str) -> None:
    """Put a body into a state given as text; one that it is in already is left untouched."""
    if state_to_text(body) == text:
        return
    values = {name: np.array(value, dtype=float) for name, value in json.loads(text).items()}
    root = {name: values.pop(name) for name in ROOT_ARRAYS}
    body.restore_state(BodyState(joints=values, **root))
