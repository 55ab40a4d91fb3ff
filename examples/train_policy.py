"""From training to the robot: a pendulum learns to swing up, and does it as a policy.

CMA-ES finds a small network in a gymnasium environment; in ONNX it is `controller: policy`. It
needs the extras gym, policy and tune, and onnx. The argument is the number of generations.
"""

import sys

import gymnasium
import numpy as np
import onnx.parser
from cmaes import CMA
from onnx import numpy_helper

from cnoid_control import run

SHAPES = {'w1': (6, 3), 'b1': (6,), 'w2': (1, 6), 'b2': (1,)}
SIZES = [int(np.prod(shape)) for shape in SHAPES.values()]
NETWORK = """<ir_version: 8, opset_import: ["": 17]>
policy (float[1, 3] obs) => (float[1, 1] action) {
  a = Gemm<transB = 1>(obs, w1, b1) b = Tanh(a) c = Gemm<transB = 1>(b, w2, b2) action = Tanh(c)
}"""
# It hangs at first, and the motor holds less than half of the rod's weight.
CHANGES = {'rate': 250.0, 'robot.posture': [3.14], 'duration': 4.0}


def angle(situation):
    """Term of the observation: the angle goes round."""
    return np.sin(situation.body.q[0]), np.cos(situation.body.q[0])


def upright(env):
    """Reward of a step: the rod is up, and still."""
    height = np.cos(env.robot.q[0])
    return height - 0.01 * env.robot.dq[0] ** 2 * (height > 0.8)


def weights(genome):
    """Weights and biases by name, of one vector."""
    pieces = np.split(genome, np.cumsum(SIZES)[:-1])
    return {name: piece.reshape(SHAPES[name]) for name, piece in zip(SHAPES, pieces, strict=True)}


def episode(env, genome):
    """Sum of the rewards of one episode."""
    w1, b1, w2, b2 = weights(genome).values()
    (observation, _), total, over = env.reset(), 0.0, False
    while not over:
        action = np.tanh(w2 @ np.tanh(w1 @ observation + b1) + b2)
        observation, reward, terminated, truncated, _ = env.step(action)
        total, over = total + reward, terminated or truncated
    return total


if __name__ == '__main__':
    env = gymnasium.make(
        'cnoid_control/Env-v0',
        config='pendulum',
        changes=CHANGES,
        options={'action': {'kind': 'effort', 'scale': 2.5}},
        observations=[f'{__file__}:angle', 'joint_velocity'],
        terms={'joint_velocity': {'scale': 0.2}},
        period=0.04,
        reward=upright,
    )
    search = CMA(mean=np.zeros(sum(SIZES)), sigma=0.7, population_size=16, seed=3)
    best = (-np.inf, np.zeros(sum(SIZES)))
    for generation in range(int(sys.argv[1]) if len(sys.argv) > 1 else 40):
        tried = [(episode(env, one), one) for one in (search.ask() for _ in range(16))]
        search.tell([(one, -value) for value, one in tried])
        best = max(best, *tried, key=lambda pair: pair[0])
        print(f'generation {generation + 1}: best return {best[0]:.1f}')
    network = onnx.parser.parse_model(NETWORK)
    for name, value in weights(best[1]).items():
        network.graph.initializer.append(numpy_helper.from_array(value.astype('f4'), name))
    onnx.save(network, 'swing_up.onnx')
    env.unwrapped.save_policy('swing_up.yaml', 'swing_up.onnx')
    recorded = run('swing_up.yaml').recorded  # as `cnoid_control run swing_up.yaml` does
    off = np.degrees(np.arccos(np.cos(recorded.q[-1, 0])))
    print(f'as controller: policy, the rod ends {off:.1f} degrees from upright')
