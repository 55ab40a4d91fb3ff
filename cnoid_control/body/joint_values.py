"""The numbers of one joint, as attributes that read and write a body's arrays."""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

GAIN_ARRAYS = ('kp', 'ki', 'kd')
# Commands that go together next to each other.
BLOCK_ARRAYS = ('u', 'q_target', 'dq_target', *GAIN_ARRAYS, 'ddq')
LIMIT_ARRAYS = ('q_lower', 'q_upper', 'dq_lower', 'dq_upper', 'u_lower', 'u_upper')
# The joint arrays of a body, in the order in which they lie one behind the other.
JOINT_ARRAYS = ('q', 'dq', *BLOCK_ARRAYS, *LIMIT_ARRAYS)

NUMBER = ctypes.c_double


@lru_cache
def _layout(slots: int) -> type[ctypes.Structure]:
    """Structure whose fields are as far apart as one joint's numbers in arrays side by side."""
    fields: list[tuple[str, type]] = []
    for name in JOINT_ARRAYS:
        if fields and slots > 1:
            fields.append((f'others_before_{name}', NUMBER * (slots - 1)))
        fields.append((name, NUMBER))
    return type('JointValues', (ctypes.Structure,), {'_fields_': fields})


def joint_values(arrays: np.ndarray, slots: int, slot: int) -> object:
    """View on one joint's numbers; to read one through it takes half as long as from an array.

    Args:
        arrays: all joint arrays, one behind the other, shape (len(JOINT_ARRAYS) * slots,).
        slots: elements of each.
        slot: the joint's place in each.
    """
    return _layout(slots).from_buffer(arrays.data, slot * arrays.itemsize)
