"""Train the walking policy of Trotter, policy/trotter_walk.onnx, by evolution.

    python tools/train_trotter.py [--out policy/trotter_walk.onnx] [--seed 1] [--iterations 150]

The policy is a linear map of features: the observation, and products of clock, command and
attitude. It begins as an open-loop trot, and augmented random search improves all of it in the
package's own physics, with masses, friction, gains, delays, noise and pushes that vary. The same
seed gives the same policy.
"""

from __future__ import annotations

import argparse
import copy
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mujoco
import numpy as np
from mujoco.rollout import Rollout
from trotter_network import (
    ACTION_SCALE,
    CYCLE,
    FEATURES,
    JOINTS,
    KD,
    KP,
    LEGS,
    LOWER,
    OFFSETS,
    PERIOD,
    STANDING,
    STRIDE,
    SWING,
    TERMS,
    UPPER,
    VELOCITY,
    features,
    save,
    symmetric,
)

from cnoid_control.hardware.mujoco.model import build_model
from cnoid_control.hardware.mujoco.parameters import MujocoParameters
from cnoid_control.runtime.config import RobotParameters
from cnoid_control.runtime.defaults import make_robot

OUT = Path(__file__).resolve().parent.parent / 'policy' / 'trotter_walk.onnx'

# Height to which the first trot lifts its feet [m].
LIFT = 0.06
# Step of the physics, length of an episode [s], and number of robots that differ.
PHYSICS_STEP, EPISODE, MODELS = 0.002, 4.0, 24
# Tilt [rad] and height of the trunk [m] that end an episode.
FALLEN_TILT, FALLEN_HEIGHT = 0.7, 0.18
STATE = mujoco.mjtState.mjSTATE_FULLPHYSICS


class Robot:
    """Trotter, its physics with actuators that follow position targets.

    Attributes:
        body: the robot in its default posture.
        model: MuJoCo model.
        default: default posture [rad], shape (12,).
        posture: the same by joint name.
    """

    def __init__(self) -> None:
        """Build it as the package does."""
        self.body = make_robot(RobotParameters(model='trotter'), time_step=PHYSICS_STEP)
        self.body.calc_forward_kinematics()
        mapping = build_model(self.body, MujocoParameters(), PHYSICS_STEP)
        self.model = mapping.model
        assert self.body.joint_names == [f'{leg}_{joint}' for leg in LEGS for joint in JOINTS]
        assert (mapping.qpos == 7 + np.arange(12)).all()
        assert (mapping.controls == np.arange(12)).all()
        self.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_SENSOR)
        self.model.actuator_gainprm[mapping.actuators, 0] = KP
        self.model.actuator_biasprm[mapping.actuators, 1] = -KP
        self.model.actuator_biasprm[mapping.actuators, 2] = -KD
        self.default = self.body.q.copy()
        self.posture = dict(zip(self.body.joint_names, self.default.tolist(), strict=True))

    def first_weights(self) -> np.ndarray:
        """An open-loop trot: feet follow the ground at the commanded velocity, and are lifted."""
        weights = np.zeros((12, FEATURES))
        reach = PERIOD * CYCLE / 4.0
        for i, (leg, clock) in enumerate(LEGS.items()):
            rows = slice(3 * i, 3 * i + 3)
            x, y, _ = self.body.link(f'{leg}_foot').p - self.body.root_link.p
            to_joints = np.linalg.inv(self._foot_jacobian(i, leg)) / ACTION_SCALE
            lift = to_joints @ np.array([0.0, 0.0, LIFT])
            # Velocity of the foot's place for vx, vy and the yaw rate, one column each.
            ways = np.array([[1.0, 0.0, -y], [0.0, 1.0, x], [0.0, 0.0, 0.0]])
            weights[rows, SWING + clock] = lift
            begin = STRIDE + 3 * clock
            weights[rows, begin : begin + 3] = reach * to_joints @ ways
        return weights

    def _foot_jacobian(self, leg: int, name: str) -> np.ndarray:
        """Displacement of a foot per angle of the three joints of its leg [m/rad]."""
        body, step = self.body.clone(), 1e-5
        columns = []
        for joint in range(3 * leg, 3 * leg + 3):
            places = []
            for side in (1.0, -1.0):
                body.q[joint] = self.default[joint] + side * step
                body.calc_forward_kinematics()
                places.append(body.link(f'{name}_foot').p.copy())
            body.q[joint] = self.default[joint]
            columns.append((places[0] - places[1]) / (2.0 * step))
        return np.array(columns).T

    def variants(self, random: np.random.Generator) -> list[mujoco.MjModel]:
        """Models with other masses, friction and gains."""
        models = []
        for _ in range(MODELS):
            model = copy.copy(self.model)
            masses = random.uniform(0.85, 1.15, model.nbody)
            masses[1] = random.uniform(0.8, 1.3)
            model.body_mass *= masses
            model.body_inertia *= masses[:, None]
            model.body_ipos[1] += random.uniform(-0.02, 0.02, 3)
            model.geom_friction[:, 0] = random.uniform(0.5, 1.2)
            model.actuator_gainprm[:, 0] *= random.uniform(0.85, 1.15)
            model.actuator_biasprm[:, 1] = -model.actuator_gainprm[:, 0]
            model.actuator_biasprm[:, 2] *= random.uniform(0.8, 1.2)
            mujoco.mj_setConst(model, mujoco.MjData(model))
            models.append(model)
        return models


@dataclass
class Scenes:
    """What happens in some episodes.

    Attributes:
        models: number of the model of each.
        commands: velocities in the first and the second half, shape (n, 2, 3).
        delays: physics steps until a target acts.
        pushes: sudden change of the velocity of the trunk [m/s], shape (n, 2).
        push_times: inference at which that happens.
        noise: seed of the noise.
    """

    models: np.ndarray
    commands: np.ndarray
    delays: np.ndarray
    pushes: np.ndarray
    push_times: np.ndarray
    noise: int

    @staticmethod
    def drawn(random: np.random.Generator, count: int, strength: float = 0.5) -> Scenes:
        """Draw some; `strength` is the largest push [m/s]."""
        commands = random.uniform(LOWER, UPPER, (count, 2, 3))
        # Often in one direction alone, or nowhere.
        commands *= random.random((count, 2, 3)) < 0.6
        commands[random.random(count) < 0.15, 0] = 0.0
        return Scenes(
            random.integers(0, MODELS, count),
            commands,
            random.integers(0, 6, count),
            random.uniform(-strength, strength, (count, 2)),
            random.integers(50, 150, count),
            int(random.integers(0, 2**31)),
        )

    def twice(self) -> Scenes:
        """Each of them twice: all, and all again."""
        return Scenes(
            *(np.concatenate([one, one]) for one in (self.models, self.commands, self.delays)),
            *(np.concatenate([one, one]) for one in (self.pushes, self.push_times)),
            self.noise,
        )


@dataclass
class Episodes:
    """How episodes went.

    Attributes:
        rewards: sum of rewards per time, shape (n,).
        fallen: whether the robot fell, shape (n,).
        errors: mean error of the velocity in the last second: vx, vy [m/s], yaw rate [rad/s].
    """

    rewards: np.ndarray
    fallen: np.ndarray
    errors: np.ndarray


class Trainer:
    """Plays episodes, and searches."""

    def __init__(self, seed: int, threads: int) -> None:
        """Build the robot and its variants."""
        self.random = np.random.default_rng(seed)
        self.robot = Robot()
        self.models = self.robot.variants(self.random)
        self._pool = Rollout(nthread=threads)
        self._data = [mujoco.MjData(self.robot.model) for _ in range(max(1, threads))]

    def play(self, weights: np.ndarray, scenes: Scenes) -> Episodes:
        """Play episodes in all scenes at once.

        Args:
            weights: of each episode, shape (n, 12, FEATURES).
            scenes: n of them.
        """
        robot, count = self.robot, len(scenes.models)
        noise = np.random.default_rng(scenes.noise)
        models = [self.models[i] for i in scenes.models]
        qpos, qvel = slice(1, 20), slice(20, 38)
        state = np.zeros((count, mujoco.mj_stateSize(robot.model, STATE)))
        pose = np.array([*robot.body.root_link.p, 1.0, 0.0, 0.0, 0.0, *robot.default])
        state[:, qpos] = pose
        # Both of a pair begin alike, and hear the same noise.
        half = count // 2
        begin = noise.normal(0.0, 0.05, (half, 12))
        state[:, 8:20] += np.concatenate([begin, begin])
        substeps = round(PERIOD / PHYSICS_STEP)
        late = np.arange(substeps)[None, :, None] < scenes.delays[:, None, None]
        targets = np.tile(robot.default, (count, 1))
        action = np.zeros((count, 12))
        ticks = np.full(count, -1)
        alive = np.ones(count, dtype=bool)
        rewards, mean = np.zeros(count), np.zeros((count, 3))
        errors = np.zeros((count, 3))
        steps = round(EPISODE / PERIOD)
        for step in range(steps):
            command = scenes.commands[:, 2 * step // steps]
            ticks, phases = clock(ticks, command)
            observation = observe(state[:, qpos], state[:, qvel], robot.default, command, phases)
            observation[:, : VELOCITY[-1] + 1] += np.tile(
                noise.normal(0.0, 0.01, (half, VELOCITY[-1] + 1)), (2, 1)
            )
            before, action = action, np.einsum('naf,nf->na', weights, features(observation))
            old, targets = targets, robot.default + ACTION_SCALE * action
            control = np.where(late, old[:, None, :], targets[:, None, :])
            kicked = scenes.push_times == step
            state[kicked, 20:22] += scenes.pushes[kicked]
            after, _ = self._pool.rollout(models, self._data, state, control)
            state = np.where(alive[:, None], after[:, -1], state)
            velocity = heading_velocity(state[:, qpos], state[:, qvel])
            mean += 0.1 * (velocity - mean)
            if step >= steps - 50:
                errors += (mean - command) / 50.0
            effort = KP * (targets - state[:, 8:20]) - KD * state[:, 26:38]
            rewards += alive * reward(state, mean, command, action - before, effort)
            alive &= is_up(state[:, qpos])
        return Episodes(rewards / steps, ~alive, errors)

    def search(
        self, iterations: int, pairs: int, best: int, noise: float, rate: float
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Augmented random search; yields the weights after each iteration, and its rewards."""
        weights = symmetric(self.robot.first_weights())
        for _ in range(iterations):
            directions = self.random.normal(size=(pairs, 12, FEATURES))
            directions = np.sqrt(2.0) * symmetric(directions)
            scenes = Scenes.drawn(self.random, pairs).twice()
            tried = np.concatenate([weights + noise * directions, weights - noise * directions])
            results = self.play(tried, scenes).rewards
            plus, minus = results[:pairs], results[pairs:]
            chosen = np.argsort(-np.maximum(plus, minus))[:best]
            spread = np.concatenate([plus[chosen], minus[chosen]]).std() + 1e-6
            change = np.einsum('n,naf->af', (plus - minus)[chosen], directions[chosen])
            weights = weights + rate / (best * spread) * change
            yield weights, results

    def assess(self, weights: np.ndarray, count: int = 64) -> Episodes:
        """Play the same new scenes, whatever is assessed."""
        scenes = Scenes.drawn(np.random.default_rng(12345), count // 2).twice()
        scenes.commands[count // 2 :] = scenes.commands[: count // 2, ::-1]
        return self.play(np.tile(weights, (count, 1, 1)), scenes)


def clock(ticks: np.ndarray, command: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Count of the gait and its phases, as `Gait` has them, for many robots at once."""
    moving = command.any(axis=1)
    ticks = np.where(moving, ticks + 1, 0)
    turned = np.array(OFFSETS) + ticks[:, None] * (2.0 * np.pi / CYCLE)
    return ticks, np.where(moving[:, None], turned, np.array(STANDING))


def observe(
    qpos: np.ndarray,
    qvel: np.ndarray,
    default: np.ndarray,
    command: np.ndarray,
    phases: np.ndarray,
) -> np.ndarray:
    """Observations of many robots, shape (n, OBSERVATION)."""
    down = -axes_z(qpos)
    return np.concatenate(
        [
            TERMS['base_ang_vel'] * qvel[:, 3:6],
            down,
            command,
            qpos[:, 7:] - default,
            TERMS['joint_vel'] * qvel[:, 6:],
            np.sin(phases),
            np.cos(phases),
        ],
        axis=1,
    )


def axes_z(qpos: np.ndarray) -> np.ndarray:
    """Vertical in the axes of the trunk, shape (n, 3)."""
    w, x, y, z = qpos[:, 3:7].T
    return np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1)


def heading_velocity(qpos: np.ndarray, qvel: np.ndarray) -> np.ndarray:
    """Forward and to the left along the ground [m/s], and yaw rate [rad/s], shape (n, 3)."""
    w, x, y, z = qpos[:, 3:7].T
    yaw = np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))
    c, s = np.cos(yaw), np.sin(yaw)
    turning = np.einsum('ni,ni->n', axes_z(qpos), qvel[:, 3:6])
    return np.stack(
        [c * qvel[:, 0] + s * qvel[:, 1], c * qvel[:, 1] - s * qvel[:, 0], turning], axis=1
    )


def is_up(qpos: np.ndarray) -> np.ndarray:
    """Whether robots have not fallen."""
    vertical = axes_z(qpos)[:, 2]
    return (vertical > np.cos(FALLEN_TILT)) & (qpos[:, 2] > FALLEN_HEIGHT)


def reward(
    state: np.ndarray,
    velocity: np.ndarray,
    command: np.ndarray,
    change: np.ndarray,
    effort: np.ndarray,
) -> np.ndarray:
    """Reward of one inference, shape (n,).

    Args:
        state: time, qpos, qvel.
        velocity: mean velocity of the last strides.
        command: what it should be.
        change: of the action.
        effort: of the joints [N m].
    """
    tilt = axes_z(state[:, 1:20])[:, :2]
    error = np.abs(velocity - command)
    standing = ~command.any(axis=1)
    return (
        1.0
        - 2.0 * error[:, 0]
        - 2.0 * error[:, 1]
        - 0.7 * error[:, 2]
        - 3.0 * (tilt**2).sum(axis=1)
        - 0.03 * (state[:, 23:25] ** 2).sum(axis=1)
        - 0.2 * state[:, 22] ** 2
        - 0.01 * (change**2).sum(axis=1)
        - 0.0003 * (effort**2).sum(axis=1)
        - 0.002 * standing * (state[:, 26:38] ** 2).sum(axis=1)
    )


def main(words: list[str] | None = None) -> None:
    """Train, say how it goes, and write the policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument('--out', type=Path, default=OUT, help='file to write')
    parser.add_argument('--seed', type=int, default=1, help='seed of everything')
    parser.add_argument('--iterations', type=int, default=150, help='steps of the search')
    parser.add_argument('--pairs', type=int, default=32, help='directions tried in a step')
    parser.add_argument('--best', type=int, default=16, help='directions that count')
    parser.add_argument('--noise', type=float, default=0.05, help='size of a try')
    parser.add_argument('--rate', type=float, default=0.03, help='size of a step')
    parser.add_argument('--threads', type=int, default=2, help='threads for the physics')
    given = parser.parse_args(words)
    trainer = Trainer(given.seed, given.threads)
    weights = symmetric(trainer.robot.first_weights())
    tell('open loop', trainer.assess(weights))
    steps = trainer.search(given.iterations, given.pairs, given.best, given.noise, given.rate)
    for number, (weights, _) in enumerate(steps, 1):
        if number % 10 == 0 or number == given.iterations:
            tell(f'step {number}', trainer.assess(weights))
    note = f'trained by tools/train_trotter.py, seed {given.seed}'
    save(given.out, weights, trainer.robot.posture, note)
    print(f'{given.out}: {given.out.stat().st_size} bytes')


def tell(what: str, found: Episodes) -> None:
    """Print a line about assessed weights."""
    up = ~found.fallen
    errors = np.abs(found.errors[up]).mean(axis=0) if up.any() else np.full(3, np.nan)
    print(
        f'{what:10}  reward {found.rewards.mean():6.3f}  fallen {found.fallen.sum():2d} of '
        f'{len(up)}  error vx {errors[0]:.3f} m/s  vy {errors[1]:.3f} m/s  yaw {errors[2]:.3f} '
        f'rad/s  CPU {time.process_time():.0f} s',
        flush=True,
    )


if __name__ == '__main__':
    main()
