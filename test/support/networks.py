"""Small networks for the tests, written as ONNX files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

# A file format that every supported onnxruntime reads.
OPSET, IR_VERSION = 17, 8


def linear(
    path: Path, matrix: np.ndarray, bias: np.ndarray, metadata: Mapping[str, str] | None = None
) -> Path:
    """Write action = matrix @ obs + bias."""
    nodes = [helper.make_node('Gemm', ['obs', 'W', 'b'], ['actions'], transB=1)]
    return _save(
        path,
        nodes,
        {'obs': matrix.shape[1]},
        {'actions': matrix.shape[0]},
        {'W': matrix, 'b': bias},
        metadata,
    )


def counting(path: Path, joints: int) -> Path:
    """Write a recurrent network: h' = h + 1, action = h' for every joint; and it wants a time."""
    nodes = [
        helper.make_node('Add', ['h_in', 'one'], ['h_out']),
        helper.make_node('MatMul', ['h_out', 'spread'], ['from_h']),
        helper.make_node('MatMul', ['time_step', 'spread'], ['from_time']),
        helper.make_node('MatMul', ['obs', 'none'], ['from_obs']),
        helper.make_node('Add', ['from_h', 'from_obs'], ['actions']),
        helper.make_node('Identity', ['from_time'], ['reference']),
    ]
    constants = {
        'one': np.ones((1, 1)),
        'spread': np.ones((1, joints)),
        'none': np.zeros((3, joints)),
    }
    inputs = {'obs': 3, 'h_in': 1, 'time_step': 1}
    outputs = {'actions': joints, 'h_out': 1, 'reference': joints}
    return _save(path, nodes, inputs, outputs, constants, None)


def tracking(
    path: Path,
    observed: int,
    joints: int,
    steps: int,
    quaternions: np.ndarray,
    metadata: Mapping[str, str] | None = None,
) -> Path:
    """Write a tracking policy that does nothing.

    Its reference has all joints at 0.01 t, until the last step, and bodies that do not turn.
    """
    nodes = [
        helper.make_node('Min', ['time_step', 'last'], ['step']),
        helper.make_node('MatMul', ['step', 'spread'], ['joint_pos']),
        helper.make_node('MatMul', ['time_step', 'still'], ['joint_vel']),
        helper.make_node('MatMul', ['obs', 'none'], ['actions']),
        helper.make_node('Identity', ['turned'], ['body_quat_w']),
    ]
    constants = {
        'last': np.full((1, 1), steps - 1.0),
        'spread': np.full((1, joints), 0.01),
        'still': np.zeros((1, joints)),
        'none': np.zeros((observed, joints)),
        'turned': quaternions.reshape(1, -1),
    }
    inputs = {'obs': observed, 'time_step': 1}
    outputs = {
        'actions': joints,
        'joint_pos': joints,
        'joint_vel': joints,
        'body_quat_w': quaternions.size,
    }
    return _save(path, nodes, inputs, outputs, constants, metadata)


def _save(path, nodes, inputs, outputs, constants, metadata) -> Path:
    def values(sizes: Mapping[str, int]) -> list:
        return [
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
            for name, size in sizes.items()
        ]

    stored = [
        numpy_helper.from_array(np.asarray(value, dtype=np.float32), name)
        for name, value in constants.items()
    ]
    graph = helper.make_graph(nodes, 'policy', values(inputs), values(outputs), stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', OPSET)])
    model.ir_version = IR_VERSION
    helper.set_model_props(model, dict(metadata or {}))
    onnx.save(model, str(path))
    return path
