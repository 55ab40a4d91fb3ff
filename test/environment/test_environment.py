"""Configurations as gymnasium environments."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from networks import linear

from cnoid_control import Simulation, load_robot, run
from cnoid_control.environment import Environment
from cnoid_control.exceptions import CnoidControlError

NAME = 'cnoid_control/Env-v0'
CACHED = ('ur5', 'panda', 'go1', 'g1')


def rollout(env: Any, count: int, seed: int = 3) -> np.ndarray:
    """Observations and rewards of random actions, one row per step."""
    generator = np.random.default_rng(seed)
    rows = [np.append(env.reset(seed=seed)[0], 0.0)]
    for _ in range(count):
        action = generator.uniform(-0.5, 0.5, env.action_space.shape).astype(np.float32)
        observation, reward, *_ = env.step(action)
        rows.append(np.append(observation, reward))
    return np.array(rows)


@pytest.mark.filterwarnings('ignore::UserWarning')
@pytest.mark.parametrize(
    'arguments',
    [
        {'config': 'sr1_pd', 'reward': {'alive': 1.0, 'tilt': -1.0, 'effort': -1e-5}},
        {'config': 'pd'},
        {'config': 'trotter_walk'},
        {'config': 'pd', 'action': 'option:posture', 'changes': {'pd.move_time': 0.0}},
        {'config': 'trotter_walk', 'action': 'mailbox:cmd_vel', 'fields': ['linear.x']},
    ],
    ids=['sr1', 'arm', 'trotter', 'posture', 'twist'],
)
def test_gymnasium_finds_no_fault(arguments: dict[str, Any]) -> None:
    """Spaces, seeds, types and pictures are as its own checker wants them."""
    env = gymnasium.make(NAME, render_mode='rgb_array', width=64, height=48, **arguments)
    check_env(env.unwrapped)
    env.close()


@pytest.mark.filterwarnings('ignore::UserWarning')
@pytest.mark.parametrize('model', CACHED)
def test_robots_of_others(model: str) -> None:
    """Arms and legs that nobody here has made, where the cache has them."""
    try:
        load_robot(model)
    except CnoidControlError:
        pytest.skip(f'{model} is not in the cache: cnoid_control get {model}')
    env = gymnasium.make(NAME, config=model, duration=0.5, width=64, height=48)
    check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_the_agent_is_the_network_of_a_policy_to_the_bit() -> None:
    """The trained network as agent does what it does as `controller: policy`."""
    with Simulation('trotter_walk') as simulation:
        simulation.run(1.5)
        network = simulation.controller.network
        wanted = simulation.recorded
        env = Environment('trotter_walk', low=-100.0, high=100.0)
        observation, _ = env.reset()
        for step in range(1, 75):
            action = network(obs=observation)['actions']
            observation, *_ = env.step(action)
            # In the middle of a tick: what was read is what was recorded of that tick.
            row = round(env.time / simulation.time_step)
            assert env.time == pytest.approx(0.02 * step)
            assert np.array_equal(env.robot.q, wanted.q[row])
            assert np.array_equal(env.robot.root_link.p, wanted.root_position[row])
        env.close()


def test_what_has_learnt_here_runs_as_a_policy(tmp_path: Path) -> None:
    """A linear network, exported, moves the arm as it did in the environment, to the bit."""
    generator = np.random.default_rng(7)
    env = Environment('pd', observations=['joint_position', 'last_action'], period=0.01)
    matrix = generator.uniform(-0.4, 0.4, (7, 14)).astype(np.float32)
    bias = generator.uniform(-0.3, 0.3, 7).astype(np.float32)
    file = linear(tmp_path / 'mine.onnx', matrix, bias)
    options = env.policy_options(file)
    with Simulation('pd', 'policy', options=options) as simulation:
        simulation.run(0.5)
        network, wanted = simulation.controller.network, simulation.recorded
    observation, _ = env.reset()
    for step in range(1, 50):
        observation, *_ = env.step(network(obs=observation)['actions'])
        assert np.array_equal(env.robot.q, wanted.q[10 * step])
    assert np.ptp(wanted.q, axis=0).max() > 0.02
    env.close()


def test_what_another_network_said_of_itself_is_kept(tmp_path: Path) -> None:
    """Trotter's network without a word about itself walks as the one that says everything."""
    import onnx

    from cnoid_control.catalog import find_policy

    network = onnx.load(find_policy('trotter_walk'))
    del network.metadata_props[:]
    onnx.save(network, tmp_path / 'plain.onnx')
    env = Environment('trotter_walk', low=-100.0, high=100.0)
    env.save_policy(tmp_path / 'walk.yaml', tmp_path / 'plain.onnx')
    env.close()
    runs = [run(source, duration=1.5) for source in ('trotter_walk', tmp_path / 'walk.yaml')]
    assert np.array_equal(*(one.recorded.q for one in runs))
    assert np.ptp(runs[0].recorded.root_position[:, 0]) > 0.1


def test_episodes_repeat_to_the_bit_and_do_not_depend_on_what_was_before() -> None:
    """In one environment and in two."""
    env = Environment('sr1_pd', reward={'tilt': -1.0, 'action_rate': -0.1, 'joint_velocity': -1.0})
    first = rollout(env, 10)
    rollout(env, 7, seed=5)
    assert np.array_equal(rollout(env, 10), first)
    other = Environment('sr1_pd', reward={'tilt': -1.0, 'action_rate': -0.1, 'joint_velocity': -1})
    assert np.array_equal(rollout(other, 10), first)
    assert not np.array_equal(rollout(other, 10, seed=5), first)
    env.close()
    other.close()


def test_environments_in_processes_do_what_one_does_here() -> None:
    """Gymnasium's own vector of processes; made by the name."""
    vector = gymnasium.make_vec(NAME, num_envs=2, vectorization_mode='async', config='pd')
    alone = Environment('pd')
    try:
        observations, _ = vector.reset(seed=1)
        observation, _ = alone.reset(seed=1)
        for step in range(5):
            assert np.array_equal(observations[0], observation)
            actions = np.full((2, 7), 0.1 * step, dtype=np.float32)
            observations, rewards, *_ = vector.step(actions)
            observation, reward, *_ = alone.step(actions[0])
            assert rewards[0] == reward
        assert np.array_equal(observations[0], observations[1])
    finally:
        vector.close()
        alone.close()


def test_a_step_is_a_period_and_an_episode_its_duration() -> None:
    """Decimated from the rate; cut off, not ended."""
    env = Environment('pd', period=0.05, duration=0.2)
    env.reset()
    ends = []
    for step in range(1, 5):
        *_, terminated, truncated, info = env.step(np.zeros(7))
        assert info['time'] == pytest.approx(0.05 * step)
        assert env.simulation.loop.tick == 50 * step
        ends.append((terminated, truncated))
    assert ends == [(False, False)] * 3 + [(False, True)]
    assert env.metadata['render_fps'] == 20
    env.close()


def test_a_reset_does_not_build_the_model_again() -> None:
    """The hardware is the same, its time is 0 again."""
    env = Environment('pd')
    hardware = env.simulation.hardware
    env.step(np.ones(7))
    env.reset()
    assert env.simulation.hardware is hardware
    assert env.time == 0.0
    assert np.array_equal(env.robot.q, env.robot.start_posture)
    env.close()


def test_an_option_as_action_is_what_the_controller_holds() -> None:
    """The arm goes to the posture of the last action."""
    env = Environment(
        'pd', action='option:posture', fields=['joint4', 'joint6'], changes={'pd.move_time': 0.2}
    )
    assert env.action_space.low == pytest.approx([-2.2, -2.1])
    env.reset()
    goal = np.array([1.3, 0.6])
    for _ in range(100):
        env.step(goal)
    ids = env.robot.joint_ids(['joint4', 'joint6'])
    assert env.robot.q[ids] == pytest.approx(goal, abs=0.01)
    env.close()


def test_a_message_as_action_moves_the_robot() -> None:
    """Trotter walks as fast as it is told; the other velocities are zero."""
    env = Environment(
        'trotter_walk',
        action='mailbox:cmd_vel',
        fields=['linear.x'],
        low=0.0,
        high=0.5,
        observations=['base_linear_velocity', 'projected_gravity'],
        reward={'forward_velocity': 1.0},
    )
    env.reset()
    rewards = [env.step(np.array([0.4]))[1] for _ in range(150)]
    assert np.mean(rewards[75:]) == pytest.approx(0.4, abs=0.06)
    assert abs(env.observation[1]) < 0.15
    assert env.observation[5] == pytest.approx(-1.0, abs=0.02)
    env.close()


def test_a_pose_as_action_is_a_target_of_a_task() -> None:
    """The hand of the arm goes there; its bounds must be said."""
    tasks = {
        'joint_group': 'all',
        'tasks': {
            'hand': {
                'type': 'body_position',
                'link': 'hand',
                'gain': 10.0,
                'selection': [1.0, 1.0, 1.0, 0.0, 0.0, 0.0],
            }
        },
    }
    given: dict[str, Any] = {'controller': 'tasks', 'options': tasks}
    with pytest.raises(CnoidControlError, match='nothing says the bounds of x, y, z, roll'):
        Environment('pd', action='mailbox:hand/target', **given)
    with pytest.raises(CnoidControlError, match=r"no mailbox 'nothing'; .*mailbox:hand/target"):
        Environment('pd', action='mailbox:nothing', **given)
    env = Environment(
        'pd', action='mailbox:hand/target', fields=['x', 'y', 'z'], low=-1.0, high=2.0, **given
    )
    env.reset()
    hand = env.robot.clone()
    hand.calc_forward_kinematics()
    goal = hand.link('hand').p + np.array([0.05, 0.1, -0.1])
    for _ in range(150):
        env.step(goal)
    hand.q[:] = env.robot.q
    hand.calc_forward_kinematics()
    assert hand.link('hand').p == pytest.approx(goal, abs=0.005)
    env.close()


def test_a_velocity_is_asked_for_in_an_episode() -> None:
    """The term `velocity_command` and the metric see it."""
    env = Environment(
        'trotter_walk', observations=['velocity_command'], reward={'velocity_error': 1.0}
    )
    observation, _ = env.reset(options={'command': [0.3, -0.1, 0.2]})
    assert observation == pytest.approx([0.3, -0.1, 0.2])
    for _ in range(40):
        # Longer than the time for which one message counts.
        observation, reward, *_ = env.step(np.zeros(12))
    assert observation == pytest.approx([0.3, -0.1, 0.2])
    assert reward == pytest.approx(np.linalg.norm([0.3, -0.1, 0.2]), abs=0.1)
    with pytest.raises(CnoidControlError, match='3 finite values were expected'):
        env.reset(options={'command': [0.3]})
    with pytest.raises(CnoidControlError, match="unknown option 'speed'; choose from: command"):
        env.reset(options={'speed': 1.0})
    env.close()


def test_rewards_and_ends_are_functions(tmp_path: Path) -> None:
    """Of one's own, and by the name of a file."""
    (tmp_path / 'mine.py').write_text(
        'def reward(env):\n    return 10.0 * env.time\n'
        'def done(env):\n    return env.time > 0.05\n'
    )
    env = Environment(
        'pd',
        reward=f'{tmp_path}/mine.py:reward',
        terminated=f'{tmp_path}/mine.py:done',
        duration=1.0,
    )
    env.reset()
    seen = [env.step(np.zeros(7))[1:4] for _ in range(3)]
    assert [row[0] for row in seen] == pytest.approx([0.2, 0.4, 0.6])
    assert [row[1:] for row in seen] == [(False, False), (False, False), (True, False)]
    env.close()
    env = Environment('pd', reward=lambda env: env.action.sum(), terminated='never')
    env.reset()
    assert env.step(np.full(7, 0.5))[1] == pytest.approx(3.5)
    env.close()


def test_metrics_by_hand() -> None:
    """Each is what its name says, and their weighted sum is the reward."""
    weights = {'alive': 2.0, 'action': -1.0, 'action_rate': 3.0, 'joint_velocity': 0.5}
    env = Environment('pd', reward=weights)
    env.reset()
    env.step(np.full(7, 0.2))
    _, reward, _, _, info = env.step(np.full(7, 0.5))
    parts = info['reward_parts']
    assert parts['alive'] == 2.0
    assert parts['action'] == pytest.approx(-0.25)
    assert parts['action_rate'] == pytest.approx(3.0 * 0.09)
    assert parts['joint_velocity'] == pytest.approx(0.5 * np.mean(env.robot.dq**2))
    assert reward == pytest.approx(sum(parts.values()))
    env.close()


def test_a_fall_ends_the_episode() -> None:
    """And only where it is to."""
    results = {}
    for rule in ('fell', 'never'):
        env = Environment('sr1_pd', terminated=rule, options={'kp': 1.0, 'kd': 1.0}, duration=3.0)
        env.reset()
        terminated = truncated = False
        while not (terminated or truncated):
            *_, terminated, truncated, info = env.step(np.zeros(29))
        results[rule] = terminated, truncated, info['fell']
        env.close()
    assert results == {'fell': (True, False, True), 'never': (False, True, True)}


def test_a_failure_ends_the_episode_with_its_reason() -> None:
    """Commands far beyond the limits; a further step is refused, a reset begins anew."""
    env = Environment('pd', options={'action': {'scale': 50.0}})
    env.reset()
    observation, _, terminated, truncated, info = env.step(np.ones(7))
    assert (terminated, truncated) == (True, False)
    assert 'implausible command' in info['reason']
    assert np.isfinite(observation).all()
    with pytest.raises(CnoidControlError, match=r'the episode has ended: .*; reset\(\) begins'):
        env.step(np.zeros(7))
    env.reset()
    assert env.step(np.zeros(7))[2] is False
    env.close()


def test_pictures_follow_the_robot() -> None:
    """Of the size that was asked for; not one colour; another posture is another picture."""
    env = Environment('pd', render_mode='rgb_array', width=120, height=90)
    env.reset()
    first = env.render()
    assert first.shape == (90, 120, 3)
    assert first.dtype == np.uint8
    assert first.std() > 10.0
    for _ in range(20):
        env.step(np.ones(7))
    assert not np.array_equal(env.render(), first)
    env.close()


def test_actions_beyond_the_bounds_are_clipped_and_nonsense_is_refused() -> None:
    """By shape and by value, with the names of what is expected."""
    env = Environment('pd')
    env.reset()
    env.step(np.full(7, 5.0))
    assert env.action == pytest.approx(np.ones(7))
    for wrong in (np.zeros(3), np.full(7, np.nan), 1.0):
        with pytest.raises(CnoidControlError, match='7 finite values were expected: joint1, '):
            env.step(wrong)
    env.close()


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        ({'action': 'torque'}, "action is 'torque'; choose from: 'joints', 'mailbox:NAME'"),
        ({'action': 'option:color'}, "has no option 'color'; .*option:posture"),
        ({'action': 'option:kp_of', 'fields': ['elbow']}, "has no field 'elbow'; .*shoulder"),
        ({'action': 'option:groups'}, 'no numbers that an action could be'),
        ({'action': 'option:kp'}, 'nothing says the bounds of kp; give both'),
        ({'fields': ['x']}, "fields: with action 'joints'"),
        ({'reward': {'speed': 1.0}}, "unknown metric 'speed'; choose from: alive, "),
        ({'reward': {'alive': 'much'}}, "reward.alive is 'much'; a finite number"),
        ({'reward': 'alive'}, "reward is 'alive'; 'file.py:function'"),
        ({'terminated': 'sometimes'}, "terminated is 'sometimes'; .*'never'"),
        ({'terminated': 3}, 'terminated is 3, which is no function'),
        ({'period': 0.0007}, 'whole number of ticks'),
        ({'period': -1.0}, 'a time above 0 s was expected'),
        ({'duration': -1.0}, 'duration is -1.0; a time above 0 s was expected'),
        ({'observations': ['joint_colour']}, "unknown term 'joint_colour'"),
        (
            {'action': 'option:posture', 'observations': ['last_action']},
            "observations: 'last_action' is not allowed; only a policy knows it",
        ),
        ({'low': [0.0, 1.0]}, r'low is \[0.0, 1.0\]; it needs 1 or 7 values'),
        ({'low': 1.0, 'high': 0.0}, 'is not below'),
        ({'render_mode': 'human'}, "render_mode is 'human'; choose None or one of rgb_array"),
        ({'options': {'kq': 1.0}}, 'kq: unknown option'),
        (
            {'changes': {'hardware.type': 'ros2_control'}},
            "hardware.type is 'ros2_control': only a simulated robot can be set back",
        ),
        ({'action': 'option:posture', 'period': 0.0015}, 'whole number of ticks of 0.001 s'),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments: dict[str, Any], words: str) -> None:
    """Before the first episode."""
    with pytest.raises(CnoidControlError, match=words):
        Environment('pd', **arguments)


@pytest.mark.parametrize('reward', [lambda env: 1.0 / 0.0, lambda env: 'much'])
def test_a_reward_that_is_no_number_is_an_error(reward: Any) -> None:
    """Not a number that nobody meant."""
    env = Environment('pd', reward=reward)
    env.reset()
    with pytest.raises(CnoidControlError, match='reward'):
        env.step(np.zeros(7))
    env.close()


@pytest.mark.parametrize('first', ['gymnasium, cnoid_control', 'cnoid_control, gymnasium'])
def test_it_is_registered_whichever_is_imported_first(first: str) -> None:
    """And gymnasium is not imported for that."""
    code = f'import {first}\nprint("{NAME}" in gymnasium.registry, gymnasium.__spec__.loader)'
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=120
    )
    assert done.stdout.startswith('True'), done.stderr
    assert 'SourceFileLoader' in done.stdout


def test_gymnasium_is_not_imported_by_the_package() -> None:
    """Nor is greenlet; and the module in front of the name imports what is needed."""
    code = (
        'import sys, cnoid_control\nassert not {"gymnasium", "greenlet"} & set(sys.modules)\n'
        'import importlib.util\nassert importlib.util.find_spec("gymnasium").loader\n'
        f'import gymnasium\nassert {NAME!r} in gymnasium.registry\n'
        f'print(gymnasium.make("cnoid_control:{NAME}", config="pd"))'
    )
    done = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, timeout=120
    )
    assert 'Environment' in done.stdout, done.stderr


RANDOM = {
    'posture.*': {'normal': [0.0, 0.02]},
    'mass.*': {'uniform': [0.9, 1.1]},
    'noise.q': 0.001,
}


def test_episodes_are_randomised_by_the_seed() -> None:
    """What `evaluate` draws; the same seed is the same episode, to the bit, the next another."""
    env = Environment('pd', randomize=RANDOM)
    first = rollout(env, 5)
    observation, info = env.reset()
    assert not np.array_equal(observation, first[0, :-1])
    assert 0.9 <= info['drawn']['mass.hand'] <= 1.1
    assert np.array_equal(rollout(env, 5), first)
    assert np.array_equal(rollout(Environment('pd', randomize=RANDOM), 5), first)
    plain = Environment('pd')
    assert np.array_equal(plain.reset(seed=1)[0], plain.reset(seed=2)[0])


@pytest.mark.parametrize('action', ['joints', 'option:posture'])
def test_a_start_that_is_drawn_is_observed(action: str) -> None:
    """Positions are relative to the robot's own posture, not to the one that was drawn."""
    env = Environment('pd', action=action, randomize={'posture.*': {'normal': [0.0, 0.05]}})
    own = Simulation('pd').robot.start_posture
    for seed in (1, 2):
        observation, info = env.reset(seed=seed)
        assert observation[:7] == pytest.approx(env.robot.q - own, abs=1e-6)
        drawn = [info['drawn'][f'posture.{name}'] for name in env.robot.joint_names]
        assert observation[:7] == pytest.approx(drawn, abs=1e-6)
    if action == 'joints':
        posture = env.policy_options('a.onnx')['posture']
        assert list(posture.values()) == pytest.approx(own)
    env.close()


def test_a_configuration_s_own_randomisation() -> None:
    """It counts where nothing else is said, and not where it shall not."""
    changes = {'randomize': {'posture.*': {'uniform': [-0.1, 0.1]}}}
    for given, counts in ((True, True), (False, False), ({'mass': {'uniform': [1, 2]}}, True)):
        env = Environment('pd', changes=changes, randomize=given)
        seen = [env.reset(seed=seed)[0][:7] for seed in (1, 2)]
        assert np.array_equal(*seen) is not counts
        env.close()
    with pytest.raises(CnoidControlError, match="randomize is 'much'; a map or False"):
        Environment('pd', randomize='much')  # type: ignore[arg-type]


@pytest.mark.filterwarnings('ignore::UserWarning')
def test_gymnasium_finds_no_fault_in_what_is_randomised() -> None:
    """Nor in one whose action is an option."""
    for action in ('joints', 'option:posture'):
        env = Environment('pd', randomize=RANDOM, action=action, duration=0.5)
        check_env(env, skip_render_check=True)
        env.close()


def test_an_episode_belongs_to_a_thread() -> None:
    """Another one is told so; the first one goes on."""
    env = Environment('pd')
    env.reset()
    said: list[str] = []

    def step() -> None:
        with pytest.raises(CnoidControlError) as caught:
            env.step(np.zeros(7))
        said.append(str(caught.value))

    thread = threading.Thread(target=step)
    thread.start()
    thread.join()
    assert said == ['the episode was begun in another thread: use an environment in one thread']
    assert env.step(np.zeros(7))[2] is False
    env.close()


def test_after_its_end_an_environment_begins_anew() -> None:
    """Closed, or left by an error in the reward."""
    env = Environment('pd', reward=lambda env: 1.0 / float(env.action[0]))
    env.reset()
    with pytest.raises(CnoidControlError, match='reward: the function raised ZeroDivisionError'):
        env.step(np.zeros(7))
    env.reset()
    assert env.step(np.ones(7))[1] == 1.0
    env.close()
    with pytest.raises(CnoidControlError, match='has ended: the environment was closed; reset'):
        env.step(np.ones(7))
    env.reset()
    assert env.step(np.ones(7))[1] == 1.0
    env.close()


def test_several_robots_are_refused_and_files_are_found_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A term of the working folder."""
    monkeypatch.chdir(tmp_path)
    Path('pair.yaml').write_text(
        '/**: {ros__parameters: {robots: {a: {config: pd}, b: {config: pd, position: [1, 0]}}}}'
    )
    with pytest.raises(CnoidControlError, match=r'pair.yaml: has several robots'):
        Environment('pair.yaml')
    Path('mine.py').write_text('def two(situation):\n    return [1.0, situation.body.q[1]]\n')
    env = Environment('pd', observations=['mine.py:two'], terms={'mine.py:two': {'scale': 2.0}})
    observation, _ = env.reset()
    assert observation == pytest.approx([2.0, 2.0 * env.robot.q[1]])
    options = env.policy_options('a.onnx')
    assert options['observations'] == ['two']
    assert options['terms'] == {'two': {'source': f'{tmp_path}/mine.py:two', 'scale': 2.0}}
    env.close()
    env = Environment('sr1_pd', observations=['device:WaistGyro.w'])
    assert env.reset()[0].shape == (3,)
    env.close()


def test_a_robot_without_physics() -> None:
    """The ideal robot follows positions exactly; pictures are drawn by rays."""
    env = Environment(
        'pd',
        changes={'hardware.type': 'kinematic'},
        options={'actuators': 'servo'},
        render_mode='rgb_array',
        width=40,
        height=30,
    )
    env.reset()
    for _ in range(100):
        env.step(np.full(7, 0.4))
    way = 0.4 * np.array(env.policy_options('a.onnx')['action']['scale'])
    assert way.min() >= 0.08 - 1e-9
    assert env.robot.q == pytest.approx(env.robot.start_posture + way, abs=1e-6)
    assert env.render().shape == (30, 40, 3)
    env.close()
