"""A tick in which a policy infers, against onnxruntime alone."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cnoid_control.bench.row import BenchRow, Work
from cnoid_control.body import load_body

if TYPE_CHECKING:
    from cnoid_control.controllers.policy import PolicyController

SR1 = 'package://cnoid_control/urdf/sr1.urdf'
# Widths of a network as walking policies have them.
HIDDEN = (512, 256, 128)


def write_network(path: Path, inputs: int, outputs: int) -> None:
    """Write a network of three hidden layers with random weights."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    nodes, stored, name = [], [], 'obs'
    sizes = [inputs, *HIDDEN, outputs]
    for i, (before, after) in enumerate(pairwise(sizes)):
        weights = (0.05 * random.normal(size=(after, before))).astype(np.float32)
        stored.append(numpy_helper.from_array(weights, f'w{i}'))
        last = i == len(sizes) - 2
        nodes.append(
            helper.make_node('Gemm', [name, f'w{i}'], ['action' if last else f'x{i}'], transB=1)
        )
        if not last:
            nodes.append(helper.make_node('Elu', [f'x{i}'], [f'y{i}']))
        name = f'y{i}'
    graph = helper.make_graph(
        nodes,
        'policy',
        [helper.make_tensor_value_info('obs', TensorProto.FLOAT, [1, inputs])],
        [helper.make_tensor_value_info('action', TensorProto.FLOAT, [1, outputs])],
        stored,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, str(path))


@contextmanager
def sr1_policy(time_step: float) -> Iterator[PolicyController]:
    """SR1 with a policy of 100 observations, 29 actions and 50 Hz, and PD control.

    Args:
        time_step: period of the ticks [s].
    """
    from cnoid_control.controllers.policy import PolicyController, PolicyParameters
    from cnoid_control.parameters import parse_parameters
    from cnoid_control.plugin import ControllerIO

    body = load_body(SR1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'policy.onnx'
        write_network(file, 100, body.num_joints)
        values = {
            'file': str(file),
            'joints': body.joint_names,
            'observations': [
                'last_action',
                'base_angular_velocity',
                'velocity_command',
                'joint_position',
                'joint_velocity',
                'projected_gravity',
                'sin_phase',
                'cos_phase',
            ],
            'action': {'scale': 0.01},
            'period': 0.02,
            'kp': 100.0,
            'kd': 1.0,
        }
        given = parse_parameters(PolicyParameters, values, 'policy')
        controller = PolicyController()
        assert controller.initialize(ControllerIO('policy', body, time_step, values, given))
        yield controller


@contextmanager
def inference() -> Iterator[tuple[Work, Work]]:
    """A tick in which the policy infers; and the network by itself."""
    import onnxruntime

    with sr1_policy(0.02) as controller:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(controller.network.file), options)
        feed = {'obs': controller.observation.vector.astype(np.float32)[np.newaxis]}

        def ours() -> None:
            controller.control()

        def alone() -> None:
            session.run(['action'], feed)

        yield ours, alone


@contextmanager
def between() -> Iterator[tuple[Work, Work]]:
    """A tick in which the policy does not infer; and one of PD control of the same robot."""
    from cnoid_control.controllers.pd import PDController, PDParameters
    from cnoid_control.parameters import parse_parameters
    from cnoid_control.plugin import ControllerIO

    # So many ticks between two inferences that none is in what is measured.
    with sr1_policy(0.02 / 10**6) as controller:
        controller.control()
        given = parse_parameters(PDParameters, {}, 'pd')
        pd = PDController()
        assert pd.initialize(ControllerIO('pd', load_body(SR1), 0.001, {}, given))

        def ours() -> None:
            controller.control()

        def alone() -> None:
            pd.control()

        yield ours, alone


ROWS = (
    BenchRow(
        name='policy',
        subject='tick with a policy of 100 observations and 29 actions, and PD control',
        reference='onnxruntime alone, the same network',
        make=inference,
        kind='time',
        comparison='<=',
        goal=1.3,
        calls=300,
        needs='onnxruntime onnx',
        why='around the network a tick takes 7 to 11 µs: 3 follow the target by PD control, the '
        'rest gathers eight kinds of observations and reads the actions; how much that is of the '
        'network, which takes 13 to 30 µs, is decided by the processor',
    ),
    BenchRow(
        name='policy_between',
        subject='tick of that policy in which it does not infer',
        reference='tick of the controller pd, the same robot',
        make=between,
        kind='time',
        comparison='<=',
        goal=1.0,
        calls=3000,
        needs='onnxruntime onnx',
    ),
)
