"""Tracking policies: what they are told of the reference motion that they put out."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

pytest.importorskip('onnxruntime', reason='needs onnxruntime')

from cnoid_control.body import Body, JointType
from cnoid_control.body.description import BodyDescription, LinkDescription
from cnoid_control.body.rotations import rpy_matrix
from cnoid_control.controllers.policy import PolicyController, PolicyParameters
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin import ControllerIO

NAMES = [f'joint{i}' for i in range(3)]

# Roll, pitch and yaw of the reference in each inference [rad].
MOTION = [(0.0, 0.0, 0.5), (0.1, 0.2, 0.7), (0.3, -0.2, 1.4)]


def robot() -> Body:
    """Floating base with three joints."""
    links = [LinkDescription('base', joint_type=JointType.FREE)]
    for i, name in enumerate(NAMES):
        link = LinkDescription(f'link{i}', 'base', name, JointType.REVOLUTE, i, kp=10.0, kd=1.0)
        links.append(link)
    return Body(BodyDescription('robot', links))


def make(values: dict[str, Any], body: Body | None = None) -> PolicyController:
    """Controller that is initialized, in a loop of 100 Hz."""
    given = parse_parameters(PolicyParameters, values, 'policy')
    controller = PolicyController()
    controller_io = ControllerIO('policy', body or robot(), 0.01, values, given, io.StringIO())
    assert controller.initialize(controller_io)
    return controller


def quaternion(rpy: tuple[float, float, float]) -> np.ndarray:
    """Quaternion x, y, z, w by half angles."""
    half = 0.5 * np.array(rpy)
    (cr, cp, cy), (sr, sp, sy) = np.cos(half), np.sin(half)
    return np.array(
        [
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
            cr * cp * cy + sr * sp * sy,
        ]
    )


def tracker(path: Path, order: tuple[int, ...] = (0, 1, 2, 3)) -> Path:
    """Network that puts out the orientation of the frame that `time_step` numbers."""
    frames = np.array([quaternion(rpy) for rpy in MOTION], dtype=np.float32)[:, order]
    nodes = [
        helper.make_node('Cast', ['time_step'], ['number'], to=TensorProto.INT64),
        helper.make_node('Squeeze', ['number'], ['flat']),
        helper.make_node('Gather', ['frames', 'flat'], ['frame']),
        helper.make_node('Unsqueeze', ['frame', 'axes'], ['reference']),
        helper.make_node('MatMul', ['obs', 'pick'], ['actions']),
    ]
    stored = [
        numpy_helper.from_array(frames, 'frames'),
        numpy_helper.from_array(np.array([0]), 'axes'),
        numpy_helper.from_array(np.eye(6, 3, dtype=np.float32), 'pick'),
    ]
    values = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, size])
        for name, size in (('obs', 6), ('time_step', 1), ('actions', 3), ('reference', 4))
    ]
    graph = helper.make_graph(nodes, 'tracker', values[:2], values[2:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid('', 17)])
    model.ir_version = 8
    onnx.save(model, str(path))
    return path


def options(path: Path, **term: Any) -> dict[str, Any]:
    """Options of a policy that is told the orientation alone."""
    return {
        'file': str(path),
        'joints': NAMES,
        'observations': ['turned'],
        'terms': {'turned': {'source': 'orientation:reference', **term}},
        'inputs': {'time_step': 'time_step'},
        'action': {'output': 'actions'},
        'period': 0.01,
    }


@pytest.mark.parametrize('quaternions', ['xyzw', 'wxyz'])
def test_the_reference_is_seen_from_a_link(tmp_path: Path, quaternions: str) -> None:
    """The first frame before the first inference; the heading at the start does not count."""
    order = (0, 1, 2, 3) if quaternions == 'xyzw' else (3, 0, 1, 2)
    path = tracker(tmp_path / 'tracker.onnx', order)
    body = robot()
    start = rpy_matrix([0.05, -0.1, -2.0])
    body.root_link.R = start
    controller = make(options(path, link='link1', quaternion=quaternions), body)
    controller.body.q[1] = 0.4
    clone = controller.body.clone()
    clone.calc_forward_kinematics()
    actual = clone.link('link1').R
    assert np.abs(actual - start).max() > 0.1
    looks = np.arctan2(actual[1, 0], actual[0, 0])
    # What is told is what the network has put out in the inference before.
    for frame in (0, 0, 1):
        assert controller.control()
        rpy = MOTION[frame]
        turned = rpy_matrix([0.0, 0.0, looks - MOTION[0][2]]) @ rpy_matrix(rpy)
        expected = (actual.T @ turned)[:, :2].ravel()
        assert controller.observation.vector == pytest.approx(expected, abs=1e-6)


def test_wrong_outputs_and_links_are_named(tmp_path: Path) -> None:
    """An output that is no quaternion, and a link that the robot does not have."""
    path = tracker(tmp_path / 'tracker.onnx')
    with pytest.raises(CnoidControlError, match="unknown link 'torso'"):
        make(options(path, link='torso'))
    with pytest.raises(CnoidControlError, match=r"'reference' has 1 quaternions, and no row 1"):
        make(options(path, row=1))
    wrong = options(path)
    wrong['terms']['turned']['source'] = 'orientation:actions'
    with pytest.raises(
        CnoidControlError, match=r"no output 'actions' that is a quaternion.*refer"
    ):
        make(wrong)
    wrong['terms']['turned']['source'] = 'output:nothing'
    with pytest.raises(CnoidControlError, match="no output 'nothing'"):
        make(wrong)
