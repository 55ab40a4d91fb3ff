"""Any configuration as a gymnasium environment."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from greenlet import getcurrent, greenlet

from cnoid_control.body import Body
from cnoid_control.controllers.policy.observation import Observation
from cnoid_control.environment.actions import Action, make_action
from cnoid_control.environment.agent import AgentController
from cnoid_control.environment.observer import Observer
from cnoid_control.environment.rewards import Function, Reward, call, find_function
from cnoid_control.evaluation.config_file import config_text
from cnoid_control.evaluation.randomization import SECTION
from cnoid_control.evaluation.runner import RandomizedRuns, Runner
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.hardware.registry import hardware_kind
from cnoid_control.parameters import locate_plugin
from cnoid_control.plugin.mailbox import Twist
from cnoid_control.runtime.config import RunConfig, override, parse_config
from cnoid_control.runtime.defaults import make_robot
from cnoid_control.runtime.world_config import is_world
from cnoid_control.simulated_robot import load_source
from cnoid_control.simulation import Simulation

# Time between two actions where nothing says it, and length of an episode [s].
USUAL_PERIOD = 0.02
USUAL_DURATION = 10.0
JOINTS = 'joints'
OBSERVER = 'environment_observer'
NEVER, FELL = 'never', 'fell'
# Numbers of randomised episodes are drawn below this.
MOST_RUNS = 2**31
# Share of a tick by which a period may be no whole number of them.
TOLERANCE = 1e-6


def _observed(observations: Sequence[str], terms: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the observation.

    Keys of a configuration have no dots: a term with a dot in its name, such as
    'file.py:function', gets another name and has the old one as its source. A file is taken from
    the working folder where it is there.
    """
    names: list[str] = []
    options = dict(terms)
    for name in observations:
        if '.' in name:
            file, _, rest = name.rpartition(':')
            is_file = file.endswith('.py')
            is_here = is_file and Path(file).is_file()
            source = locate_plugin(name, Path.cwd()) if is_here else name
            short = rest if is_file else re.sub(r'\W', '_', name)
            options[short] = {'source': source, **options.pop(name, {})}
            name = short
        names.append(name)
    found: dict[str, Any] = {'observations': names} if names else {}
    return found | ({'terms': options} if options else {})


class Environment(gymnasium.Env[np.ndarray, np.ndarray]):
    """A configuration's simulation, that an agent moves period by period.

    A step is the time from one observation to the next: the action that answers an observation
    acts in the very tick in which it was observed, as that of a network in `controller: policy`
    does. The loop is the one of `cnoid_control run`: limits, watchdog and safe state act, and a
    failure ends the episode.

    Attributes:
        simulation: the simulation of this episode.
        action: the last action; `previous_action` the one before it.
        observation: the last observation.
        command: velocity that is asked for: forward, left [m/s], turning left [rad/s].
        fell: whether the robot has fallen in this episode.
        reason: why the run has ended by itself; empty otherwise.
        period: time of a step [s].
        duration: time after which an episode is cut off [s].
    """

    metadata: dict[str, Any] = {'render_modes': ['rgb_array'], 'render_fps': 50}  # noqa: RUF012
    observation_space: gymnasium.spaces.Box
    action_space: gymnasium.spaces.Box
    simulation: Simulation
    action: np.ndarray
    previous_action: np.ndarray
    command: np.ndarray
    fell: bool
    reason: str

    def __init__(
        self,
        config: str | Path | RunConfig,
        *,
        controller: Any = None,
        options: Mapping[str, Any] | None = None,
        changes: Mapping[str, Any] | None = None,
        action: str = JOINTS,
        fields: Sequence[str] = (),
        low: float | Sequence[float] | None = None,
        high: float | Sequence[float] | None = None,
        observations: Sequence[str] = (),
        terms: Mapping[str, Any] | None = None,
        period: float = 0.0,
        duration: float = 0.0,
        reward: Mapping[str, float] | str | Function | None = None,
        terminated: str | Function = FELL,
        randomize: Mapping[str, Any] | bool = True,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 360,
    ) -> None:
        """Build the simulation, once: a reset goes back to its start.

        Args:
            config: a configuration, the name or file of one, or a robot model.
            controller: in the place of the configuration's, where the action is not the joints'.
            options: options of the controller; of the policy that is to be, where the action is
                the joints': those of `controller: policy`.
            changes: other values of the configuration, by key.
            action: what an action is: 'joints', the output of a network in `controller: policy`;
                'mailbox:NAME', a message for the configuration's controller; or 'option:KEY', an
                option of it, such as the posture that `pd` holds.
            fields: the numbers of the message or option that the action sets; all where empty.
            low: lower bounds of the action; what is known where None.
            high: upper bounds of the action.
            observations: terms of the observation as in `controller: policy`; the policy's own,
                else joints, and a floating base, where empty.
            terms: options of the terms by name.
            period: time of a step [s]; where 0, the policy's own, else 0.02.
            duration: time after which an episode is cut off [s]; where 0, the configuration's,
                else 10.
            reward: weights by metric, a function of the environment, or the name of one; 1 per
                step where None.
            terminated: 'fell', 'never', a function of the environment, or the name of one.
            randomize: what is drawn anew for each episode, as for `evaluate`, in addition to the
                configuration's `randomize` section; nothing where False.
            render_mode: 'rgb_array', or None.
            width: width of a picture [pixel].
            height: height of a picture [pixel].

        Raises:
            CnoidControlError: the configuration or one of these is wrong.
        """
        if render_mode not in (None, *self.metadata['render_modes']):
            raise CnoidControlError(
                f'render_mode is {render_mode!r}; choose None or one of '
                f'{", ".join(self.metadata["render_modes"])}'
            )
        self.render_mode = render_mode
        self._size = height, width
        self._reward = Reward({'alive': 1.0} if reward is None else reward)
        self._terminated = (
            terminated if terminated in (FELL, NEVER) else find_function('terminated', terminated)
        )
        # Controllers say in every episode what they have to say: it is kept, not printed.
        self.messages = io.StringIO()
        observed = _observed(observations, terms or {})
        if isinstance(config, (str, Path)) and is_world(config):
            raise CnoidControlError(f'config {config}: has several robots; an agent moves one')
        self._kind = action
        if action == JOINTS:
            built = self._build_joints(
                config, options, changes, observed, period, controller, fields
            )
        elif action.partition(':')[0] in ('mailbox', 'option') and ':' in action:
            built = self._build_driven(config, controller, options, changes, observed, period)
        else:
            raise CnoidControlError(
                f"action is {action!r}; choose from: 'joints', 'mailbox:NAME', 'option:KEY'"
            )
        self._fields = tuple(fields)
        given, hardware = built[0].parameters, built[0].hardware_type
        if not hardware_kind(hardware).is_simulated or hardware == 'replay':
            raise CnoidControlError(
                f'hardware.type is {hardware!r}: only a simulated robot can be set back for the '
                'next episode'
            )
        self.duration = self._time('duration', duration or given.duration or USUAL_DURATION)
        drawn = {} if randomize is False else dict(given.randomize)
        if isinstance(randomize, Mapping):
            drawn |= randomize
        elif not isinstance(randomize, bool):
            raise CnoidControlError(f'randomize is {randomize!r}; a map or False was expected')
        self._make_simulation(*built, drawn)
        self._episode: greenlet | None = None
        self._renderer: Any = None
        self._asked: np.ndarray | None = None
        self._begin({})
        self._make_spaces(low, high)
        self.action = self.previous_action = np.zeros(len(self.action_names))
        self.metadata = {**self.metadata, 'render_fps': max(1, round(1.0 / self.period))}

    # --- what it is made of -------------------------------------------------------------------

    def _build_joints(
        self,
        source: str | Path | RunConfig,
        options: Mapping[str, Any] | None,
        changes: Mapping[str, Any] | None,
        observed: dict[str, Any],
        period: float,
        controller: Any,
        fields: Sequence[str],
    ) -> tuple[RunConfig, Any]:
        """Have the agent be the controller."""
        if controller is not None or fields:
            what = 'fields' if controller is None else 'controller'
            raise CnoidControlError(
                f"{what}: with action 'joints' the agent is the controller of all joints that "
                'options.joints names'
            )
        config = load_source(source, None, None, changes)[0]
        own: Any = {}
        if config.controller_type == 'policy':
            own = config.options.get(config.controller_name, {})
        merged = {**own, **(options or {}), **observed}
        if period:
            merged['period'] = self._time('period', period)
        self._agent = AgentController(self._ask, USUAL_PERIOD)
        return load_source(config, self._agent, merged)[0], self._agent

    def _build_driven(
        self,
        source: str | Path | RunConfig,
        controller: Any,
        options: Mapping[str, Any] | None,
        changes: Mapping[str, Any] | None,
        observed: dict[str, Any],
        period: float,
    ) -> tuple[RunConfig, Any]:
        """Have an observer beside the controller."""
        period = self._time('period', period or USUAL_PERIOD)
        more = {
            f'other_controllers.{OBSERVER}.type': f'{Observer.__module__}:{Observer.__name__}',
            OBSERVER: {**observed, 'period': period},
        }
        config, maker = load_source(source, controller, options, {**(changes or {}), **more})
        ticks = period * config.parameters.rate
        if abs(ticks - round(ticks)) > TOLERANCE * ticks or round(ticks) < 1:
            raise CnoidControlError(
                f'period is {period:g} s; it needs a whole number of ticks of '
                f'{config.time_step:g} s'
            )
        self.period = period
        return config, controller if maker is not None else None

    def _make_simulation(
        self, config: RunConfig, controller: Any, drawn: Mapping[str, Any]
    ) -> None:
        """Make the simulation, or what makes one for each episode on the same compiled model."""
        values = {key: value for key, value in config.values.items() if key != SECTION}
        config = parse_config(values, config.name, config.folder)
        self._config = config
        self._runner: Runner | None = None
        if drawn:
            # Not the posture that is drawn: observations and targets are about the robot's own.
            robot = make_robot(config.parameters.robot, config.folder, config.time_step)
            if self._kind == JOINTS:
                self._agent.start_posture = robot.start_posture
            else:
                posture = {f'{OBSERVER}.posture': robot.start_posture.tolist()}
                values = override(config.values, posture)
                config = parse_config(values, config.name, config.folder)
            runs = RandomizedRuns(
                config, dict(drawn), self.duration, controller=controller, stop_on_fall=False
            )
            self._runner = Runner(runs)
            self.simulation = self._runner.simulation(0)
        else:
            self.simulation = Simulation(config, controller, record=False, os=self.messages)

    @staticmethod
    def _time(key: str, value: float) -> float:
        if not isinstance(value, (int, float)) or not 0.0 < value < np.inf:
            raise CnoidControlError(f'{key} is {value!r}; a time above 0 s was expected')
        return float(value)

    def _make_spaces(
        self, low: float | Sequence[float] | None, high: float | Sequence[float] | None
    ) -> None:
        size = self._observed.size
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (size,), np.float32)
        if self._kind == JOINTS:
            clip = self._agent.io.parameters.action.clip or [-1.0, 1.0]
            count = self._agent.joints.size
            names = [self.robot.joint(int(i)).joint_name for i in self._agent.joints]
            lowest, highest = np.full(count, clip[0]), np.full(count, clip[1])
        else:
            names, lowest, highest = self._driven.names, self._driven.low, self._driven.high
        bounds = [
            self._bound(key, given, known)
            for key, given, known in (('low', low, lowest), ('high', high, highest))
        ]
        unknown = [
            name for name, *pair in zip(names, *bounds, strict=True) if not np.isfinite(pair).all()
        ]
        if unknown:
            raise CnoidControlError(
                f'low and high: nothing says the bounds of {", ".join(unknown)}; give both'
            )
        if not (bounds[0] < bounds[1]).all():
            raise CnoidControlError(f'low {bounds[0].tolist()} is not below {bounds[1].tolist()}')
        self.action_names = list(names)
        self.action_space = gymnasium.spaces.Box(
            bounds[0].astype(np.float32), bounds[1].astype(np.float32), dtype=np.float32
        )

    @staticmethod
    def _bound(key: str, given: float | Sequence[float] | None, known: np.ndarray) -> np.ndarray:
        if given is None:
            return known
        values = np.asarray(given, dtype=float)
        if values.shape not in ((), known.shape):
            raise CnoidControlError(f'{key} is {given!r}; it needs 1 or {known.size} values')
        return np.broadcast_to(values, known.shape).copy()

    @property
    def robot(self) -> Body:
        """The robot as it is measured: its joints, its root, its devices."""
        return self.simulation.robot

    @property
    def time(self) -> float:
        """Time since the episode began [s]."""
        return self.simulation.time

    @property
    def controller(self) -> Any:
        """The controller that has the robot."""
        return self.simulation.controller

    # --- an episode ---------------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode.

        Args:
            seed: seed of `np_random`, which draws the seeds of what is randomised.
            options: `command`: velocity that is asked for: forward, left [m/s], turning left
                [rad/s].

        Raises:
            CnoidControlError: an option is wrong, or the simulation cannot begin.
        """
        super().reset(seed=seed)
        options = dict(options or {})
        for key in options:
            if key != 'command':
                raise CnoidControlError(f'reset: unknown option {key!r}; choose from: command')
        self._leave()
        info: dict[str, Any] = {}
        if self._runner is None:
            self.simulation.reset()
        else:
            self.simulation.close()
            run = int(self.np_random.integers(MOST_RUNS))
            self.simulation = self._runner.simulation(run)
            info['drawn'] = self._runner.drawn(run)
        self._begin(options)
        return self._observed_now(), {'time': self.time, **info}

    def _begin(self, options: Mapping[str, Any]) -> None:
        """Take ticks until something is observed."""
        robot = next(iter(self.simulation.robots.values()))
        robot.begin()
        self.messages.seek(0)
        self.messages.truncate()
        self.fell, self.reason = False, ''
        self._is_leaving = False
        self.command = np.zeros(3)
        hosted = {one.name: one for one in robot.loop.host.controllers}
        if self._kind == JOINTS:
            self.period = self._agent.period
            self._observed: Observation = self._agent.observation
            self._situation = self._agent.situation
        else:
            if OBSERVER not in hosted or len(hosted) < 2:
                raise CnoidControlError(str(robot.loop.host.errors[0]))
            observer: Observer = hosted[OBSERVER].controller  # type: ignore[assignment]
            observer.say = self._drive
            self._observed, self._situation = observer.observation, observer.situation
            self._driven: Action = make_action(
                self._kind, robot.loop.host.controllers[0], self._fields, self.period
            )
        self._velocity = self._find_velocity(options.get('command'))
        self._send_command()
        size = getattr(self, 'action_names', ())
        self.action = self.previous_action = np.zeros(len(size))
        self._episode = greenlet(self._take_ticks)
        self._resume(None)
        if self._episode is None:
            raise CnoidControlError(f'the episode ended before it began: {self.reason}')

    def _find_velocity(self, given: Any) -> Any:
        """Mailbox of velocity commands, where one is to be sent."""
        if given is None:
            return None
        command = np.asarray(given, dtype=float)
        if command.shape != (3,) or not np.isfinite(command).all():
            raise CnoidControlError(
                f'command is {given!r}; 3 finite values were expected: forward, left, turning left'
            )
        robot = next(iter(self.simulation.robots.values()))
        for one in robot.loop.host.ios():
            if 'cmd_vel' in one.mailboxes:
                self.command = command
                return one.mailboxes['cmd_vel']
        raise CnoidControlError('command: no controller takes velocity commands (cmd_vel)')

    def _send_command(self) -> None:
        if self._velocity is not None:
            vx, vy, turn = self.command
            self._velocity.post(
                Twist(linear=np.array([vx, vy, 0.0]), angular=np.array([0.0, 0.0, turn]))
            )

    def _take_ticks(self, _: Any = None) -> None:
        """Take ticks until the run ends, or the episode is left; not in the caller's stack."""
        simulation = self.simulation
        while not self._is_leaving:
            if not simulation.step():
                return

    def _ask(self, observation: np.ndarray) -> np.ndarray:
        """Leave the tick with an observation; come back to it with an action."""
        episode = self._episode
        if self._is_leaving or episode is None or episode.parent is None:
            return self.action
        return episode.parent.switch(observation)

    def _drive(self, observation: np.ndarray) -> None:
        action = self._ask(observation)
        if not self._is_leaving:
            self._driven.act(action)

    def _resume(self, action: np.ndarray | None) -> None:
        """Go on with the tick that was left; until the next observation, or the end."""
        episode = self._episode
        assert episode is not None
        try:
            episode.parent = getcurrent()
        except ValueError:
            raise CnoidControlError(
                'the episode was begun in another thread: use an environment in one thread'
            ) from None
        try:
            episode.switch(action)
        except CnoidControlError as error:
            self.reason = str(error)
        if episode.dead:
            self._episode = None
            outcome = self.simulation.loop.outcome()
            self.reason = self.reason or outcome.reason or outcome.exit

    def _leave(self) -> None:
        """Finish the tick that was left in its middle."""
        if self._episode is not None:
            self._is_leaving = True
            self._resume(self.action)
            self._episode = None

    def step(self, action: np.ndarray) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Act for one period.

        Args:
            action: see `action_space`; what is beyond its bounds is clipped.

        Raises:
            CnoidControlError: the action has another shape or is not finite, or the episode has
                ended.
        """
        if self._episode is None:
            raise CnoidControlError(f'the episode has ended: {self.reason}; reset() begins anew')
        space = self.action_space
        values = np.asarray(action, dtype=float)
        if values.shape != space.shape or not np.isfinite(values).all():
            raise CnoidControlError(
                f'action is {action!r}; {len(self.action_names)} finite values were expected: '
                f'{", ".join(self.action_names)}'
            )
        self.previous_action, self.action = self.action, np.clip(values, space.low, space.high)
        self._send_command()
        self._resume(self.action)
        trace, monitor = self.simulation.loop.trace, self.simulation.monitor
        assert trace is not None  # Simulations have one.
        trace.flush()
        self.fell = monitor.fell
        if self._velocity is None:
            self.command = self._situation.command
        info: dict[str, Any] = {'time': self.time, 'fell': self.fell}
        has_ended = self._episode is None
        if has_ended:
            info['reason'] = self.reason
        reward = self._reward(self, info)
        is_over = self.time >= self.duration - 0.5 * self.simulation.time_step
        return self._observed_now(), reward, has_ended or self._is_terminated(), is_over, info

    def _is_terminated(self) -> bool:
        if self._terminated == FELL:
            return self.fell
        if self._terminated == NEVER:
            return False
        return bool(call('terminated', self._terminated, self))  # type: ignore[arg-type]

    def _observed_now(self) -> np.ndarray:
        self.observation = self._observed.vector.astype(np.float32)
        return self.observation

    # --- from training to the robot -----------------------------------------------------------

    def policy_options(self, file: str | Path) -> dict[str, Any]:
        """Options of `controller: policy` for a network that has learnt here.

        Args:
            file: its ONNX file; the observation is its one input, the action its first output.

        Raises:
            CnoidControlError: the action is not the joints'.
        """
        if self._kind != JOINTS:
            raise CnoidControlError(
                f'action is {self._kind!r}: only a network that commands joints runs as a policy'
            )
        low, high = float(self.action_space.low.min()), float(self.action_space.high.max())
        options = self._agent.policy_options()
        action = {**options['action'], 'clip': [low, high]}
        return {**options, 'file': str(file), 'action': action}

    def save_policy(self, config: str | Path, file: str | Path) -> None:
        """Write a configuration in which a network that has learnt here has the robot.

        Args:
            config: the file to write, for `cnoid_control run`, a launch file or `Simulation`.
            file: the ONNX file, see `policy_options`.

        Raises:
            CnoidControlError: the action is not the joints', or the file cannot be written.
        """
        options = self.policy_options(Path(file).absolute())
        before = self._config
        values = {
            key: value
            for key, value in before.values.items()
            if key not in (SECTION, before.controller_name)
        }
        values |= {'controller': 'policy', 'policy': options}
        made = parse_config(values, before.name, before.folder)
        try:
            Path(config).write_text(
                config_text(made, f'{made.name} by {Path(file).name}'), encoding='utf-8'
            )
        except OSError as error:
            raise CnoidControlError(f'{config} cannot be written: {error}') from error

    # --- pictures -----------------------------------------------------------------------------

    def render(self) -> np.ndarray | None:  # type: ignore[override]
        """Picture of the robot as it is now, uint8, shape (height, width, 3)."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() draws nothing: make it with render_mode='rgb_array'")
            return None
        from cnoid_control.environment.rendering import Camera

        if self._renderer is None:
            self._renderer = Camera(self._size)
        return self._renderer.draw(self.simulation)

    def close(self) -> None:
        """Leave the episode and free what draws pictures; a reset begins anew."""
        self._leave()
        self.reason = 'the environment was closed'
        self.simulation.close()
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
