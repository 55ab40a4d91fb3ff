"""The network of Trotter's walking policy: a linear map of features of its observation."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

# Legs, the clock that each follows (diagonal ones together), and the joints of a leg.
LEGS = {'front_left': 0, 'front_right': 1, 'rear_left': 1, 'rear_right': 0}
JOINTS = ('hip_roll', 'hip_pitch', 'knee')

# Time between two inferences [s], inferences in a cycle of the gait, and its phases [rad].
PERIOD, CYCLE = 0.02, 20
OFFSETS, STANDING = (0.0, np.pi), (np.pi, np.pi)
KP, KD, ACTION_SCALE = 60.0, 1.5, 0.25
# Ranges of vx, vy [m/s] and yaw rate [rad/s].
LOWER, UPPER = np.array([-0.4, -0.25, -0.8]), np.array([0.6, 0.25, 0.8])

# Terms of the observation in order: name in the metadata, scale.
TERMS = {
    'base_ang_vel': 0.25,
    'projected_gravity': 1.0,
    'command': 1.0,
    'joint_pos': 1.0,
    'joint_vel': 0.05,
    'sin_phase': 1.0,
    'cos_phase': 1.0,
}
RATE, GRAVITY, COMMAND = np.arange(0, 3), np.arange(3, 6), np.arange(6, 9)
POSITION, VELOCITY = np.arange(9, 21), np.arange(21, 33)
SINE, COSINE = np.arange(33, 35), np.arange(35, 37)
OBSERVATION = 37
# What each clock's swing is multiplied with.
SWING_TERMS = np.array([*RATE, *GRAVITY[:2]])
PLAIN = np.arange(33)
FEATURES = PLAIN.size + 2 + 2 * COMMAND.size + 2 * SWING_TERMS.size + 1
# Where the groups of features begin.
SWING = PLAIN.size
STRIDE = SWING + 2
REACTION = STRIDE + 2 * COMMAND.size


def features(observation: np.ndarray) -> np.ndarray:
    """Features of observations, shape (n, FEATURES); the network has the same, see `save`."""
    swing = np.maximum(observation[:, SINE], 0.0)
    # From -1 where a foot is lifted to 1 where it is put down, at a constant speed.
    stride = np.arcsin(np.clip(-observation[:, COSINE], -1.0, 1.0)) * (2.0 / np.pi)
    strides = stride[:, :, None] * observation[:, None, COMMAND]
    reactions = swing[:, :, None] * observation[:, None, SWING_TERMS]
    count = len(observation)
    return np.concatenate(
        [
            observation[:, PLAIN],
            swing,
            strides.reshape(count, -1),
            reactions.reshape(count, -1),
            np.ones((count, 1)),
        ],
        axis=1,
    )


def symmetric(weights: np.ndarray) -> np.ndarray:
    """Part of weights that treats left and right alike, shape (..., 12, FEATURES)."""
    joints, signs = _mirrored_joints()
    columns = np.arange(FEATURES)
    flips = np.ones(FEATURES)
    flips[RATE], flips[GRAVITY], flips[COMMAND] = (-1, 1, -1), (1, -1, 1), (1, -1, -1)
    for group in (POSITION, VELOCITY):
        columns[group], flips[group] = group[joints], signs
    columns[SWING : SWING + 2] = SWING + np.array([1, 0])
    for begin, terms in ((STRIDE, COMMAND), (REACTION, SWING_TERMS)):
        size = terms.size
        columns[begin : begin + size] = begin + size + np.arange(size)
        columns[begin + size : begin + 2 * size] = begin + np.arange(size)
        flips[begin : begin + 2 * size] = np.tile(flips[terms], 2)
    image = weights[..., joints, :][..., columns] * signs[:, None] * flips
    return 0.5 * (weights + image)


def _mirrored_joints() -> tuple[np.ndarray, np.ndarray]:
    """Joint on the other side of each joint, and the sign of its angle."""
    legs = np.array([1, 0, 3, 2])
    joints = (3 * legs[:, None] + np.arange(3)).ravel()
    return joints, np.tile([-1.0, 1.0, 1.0], 4)


def save(path: Path, weights: np.ndarray, posture: Mapping[str, float], note: str) -> None:
    """Write the network with its metadata.

    Args:
        path: file to write.
        weights: of the features, shape (12, FEATURES).
        posture: default posture by joint name, in the order of the network [rad].
        note: what the file says of itself.
    """
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    indices = {
        'plain': PLAIN,
        'sine': SINE,
        'cosine': COSINE,
        'clock_of_command': np.repeat([0, 1], COMMAND.size),
        'command': np.tile(COMMAND, 2),
        'clock_of_reaction': np.repeat([0, 1], SWING_TERMS.size),
        'reaction': np.tile(SWING_TERMS, 2),
    }
    numbers = {
        'least': np.float32(-1.0),
        'largest': np.float32(1.0),
        'slope': np.float32(-2.0 / np.pi),
        'W': weights[:, :-1].astype(np.float32),
        'b': weights[:, -1].astype(np.float32),
    }
    constants = [
        numpy_helper.from_array(np.asarray(value), name)
        for name, value in {**indices, **numbers}.items()
    ]

    def node(kind: str, inputs: str, output: str, **options: int) -> onnx.NodeProto:
        return helper.make_node(kind, inputs.split(), [output], **options)

    nodes = [
        node('Gather', 'obs plain', 'observed', axis=1),
        node('Gather', 'obs sine', 'sines', axis=1),
        node('Relu', 'sines', 'swing'),
        node('Gather', 'obs cosine', 'cosines', axis=1),
        node('Clip', 'cosines least largest', 'bounded'),
        node('Asin', 'bounded', 'angles'),
        node('Mul', 'angles slope', 'stride'),
        node('Gather', 'stride clock_of_command', 'stride_of', axis=1),
        node('Gather', 'obs command', 'command_of', axis=1),
        node('Mul', 'stride_of command_of', 'strides'),
        node('Gather', 'swing clock_of_reaction', 'swing_of', axis=1),
        node('Gather', 'obs reaction', 'reaction_of', axis=1),
        node('Mul', 'swing_of reaction_of', 'reactions'),
        node('Concat', 'observed swing strides reactions', 'features', axis=1),
        node('Gemm', 'features W b', 'actions', transB=1),
    ]
    graph = helper.make_graph(
        nodes,
        'trotter_walk',
        [helper.make_tensor_value_info('obs', TensorProto.FLOAT, [1, OBSERVATION])],
        [helper.make_tensor_value_info('actions', TensorProto.FLOAT, [1, 12])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    model.doc_string = note
    helper.set_model_props(model, metadata(posture))
    onnx.checker.check_model(model)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(path))


def metadata(posture: Mapping[str, float]) -> dict[str, str]:
    """What a user would otherwise have to type."""
    names = ('lin_vel_x', 'lin_vel_y', 'ang_vel_yaw')
    ranges = {name: [low, high] for name, low, high in zip(names, LOWER, UPPER, strict=True)}
    gait = {'steps': CYCLE, 'offsets': list(OFFSETS), 'standing': list(STANDING)}
    return {
        'joint_names': ','.join(posture),
        'joint_stiffness': ','.join([f'{KP:g}'] * 12),
        'joint_damping': ','.join([f'{KD:g}'] * 12),
        'default_joint_pos': ','.join(f'{value:g}' for value in posture.values()),
        'action_scale': f'{ACTION_SCALE:g}',
        'observation_names': ','.join(TERMS),
        'observation_terms_scale': ','.join(f'{scale:g}' for scale in TERMS.values()),
        'command_names': 'velocity',
        'command_ranges': json.dumps(ranges),
        'step_dt': f'{PERIOD:g}',
        'gait': json.dumps(gait),
    }
