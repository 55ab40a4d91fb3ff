"""One robot of a simulation: its configuration, its controllers, its loop and its records."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cnoid_control.body import Body
from cnoid_control.controllers.sensor_reading import SensorReading, unknown_sensor
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.hardware import Hardware
from cnoid_control.hardware.registry import observable_devices
from cnoid_control.notebook import draw_bodies, html_image, html_table, side_by_side
from cnoid_control.plugin import SimpleController
from cnoid_control.plugin.mailbox import Mailbox
from cnoid_control.plugin.registry import controller_class, instance_name
from cnoid_control.recording import Recording
from cnoid_control.runtime.build import make_controllers, make_loop
from cnoid_control.runtime.config import RunConfig, override, parse_config
from cnoid_control.runtime.controller_host import ControllerHost
from cnoid_control.runtime.defaults import load_run
from cnoid_control.runtime.hot_swap import BEGUN, HotSwap, Transition
from cnoid_control.runtime.loop import ControlLoop, RunOutcome
from cnoid_control.runtime.managed_controller import ManagedController
from cnoid_control.runtime.succession import Succession
from cnoid_control.runtime.summary import RunMonitor, summarize

# Topic of the pushes in a log.
PUSHES = 'pushes'
# What makes the main controller, where it is not found by its name.
Maker = Callable[[], SimpleController]


def load_source(
    source: str | Path | RunConfig,
    controller: Any = None,
    options: Mapping[str, Any] | None = None,
    changes: Mapping[str, Any] | None = None,
) -> tuple[RunConfig, Maker | None]:
    """Configuration of a run, and what makes its controller where no name does.

    Args:
        source: a configuration, the name or file of one, or a robot model.
        controller: in the place of the configuration's: a name, a class, an instance, or a
            function `control(robot, t, ...)` or `make(robot, ...)`.
        options: options of the controller, in addition to the configuration's.
        changes: other values of the configuration, by key ('hardware.mujoco.floor').

    Raises:
        CnoidControlError: there is no such configuration or model, or a value in it is wrong.
    """
    overrides = dict(changes or {})
    maker: Maker | None = None
    if controller is not None:
        overrides['controller'], maker = _name_and_maker(controller)
    if options:
        name = overrides.get('controller') or _load(source, overrides).parameters.controller
        overrides[instance_name(name)] = dict(options)
    return _load(source, overrides), maker


def _load(source: str | Path | RunConfig, overrides: Mapping[str, Any]) -> RunConfig:
    if isinstance(source, RunConfig):
        if not overrides:
            return source
        return parse_config(override(source.values, overrides), source.name, source.folder)
    return load_run(source, overrides)


def _name_and_maker(controller: Any) -> tuple[str, Maker | None]:
    """Name of a controller in the configuration, and what makes it where it is no name."""
    if isinstance(controller, str):
        file, colon, name = controller.rpartition(':')
        # As on the command line, a file of the working folder is meant.
        is_here = file.endswith('.py') and Path(file).is_file()
        return (f'{Path(file).resolve()}{colon}{name}' if is_here else controller), None
    kind = controller if hasattr(controller, '__name__') else type(controller)
    name = f'{kind.__module__}:{kind.__name__}'
    if isinstance(controller, SimpleController):
        return name, lambda: controller
    from cnoid_control.controllers.composition import BaseController, CompositionController

    if isinstance(controller, BaseController):
        return name, lambda: CompositionController(controller)
    return name, controller_class(name, controller)


class RunSummary(dict[str, Any]):
    """Summary of a run, the same as `cnoid_control run --json` prints."""

    def _repr_html_(self) -> str:
        return html_table(self, f'{self.get("config", "run")}: {self.get("exit", "")}')


class SimulatedRobot:
    """A robot of a simulation.

    Attributes:
        name: its name in the simulation.
        config: its configuration.
        loop: its loop.
        succession: who has taken over from whom.
        monitor: statistics so far.
    """

    def __init__(
        self,
        name: str,
        config: RunConfig,
        maker: Maker | None = None,
        hardware: Hardware | None = None,
        os: TextIO | None = None,
        record: bool = True,
    ) -> None:
        """Make everything; controllers are initialized when the first tick is near.

        Args:
            name: name in the simulation.
            config: the configuration.
            maker: makes the main controller; found by its name where None.
            hardware: the robot; made from the configuration where None.
            os: stream for messages; the standard error where None.
            record: whether every tick is kept for `recorded`.

        Raises:
            CnoidControlError: the configuration is wrong, or the robot cannot be simulated.
        """
        self.name = name
        self.config = config
        self._maker = maker
        self._os = os
        self._records = record
        self._make_loop(hardware)
        self._pristine = self.body.clone()

    def _make_loop(self, hardware: Hardware | None) -> None:
        self.loop: ControlLoop = make_loop(
            self.config,
            hardware,
            os=self._os,
            detailed_trace=self._records,
            controllers=self._controllers(self.config, self._maker),
        )
        if self._records:
            kind = self.config.hardware_type
            self.loop.observed |= set(observable_devices(kind, self.body))
        assert self.loop.trace is not None
        self._recorded = Recording(self.loop.trace, self.body) if self._records else None
        self.monitor = RunMonitor(self.loop)
        self._swapper = HotSwap(self.loop, holding=self.config.parameters.safe_state)
        self.succession = Succession(
            self.loop, self._swapper, lambda: self.config, self._succeeded
        )
        # Who takes over, and may still be given up, and who had the robot before.
        self._swap: tuple[ControllerHost, RunConfig, Maker | None] | None = None
        self._is_begun = False

    @staticmethod
    def _controllers(config: RunConfig, maker: Maker | None) -> list[ManagedController]:
        return make_controllers(config, None if maker is None else maker())

    @property
    def recorded(self) -> Recording:
        """What has happened so far, as arrays: `recorded.time`, `recorded.q`, ...

        Raises:
            CnoidControlError: nothing is recorded.
        """
        if self._recorded is None:
            raise CnoidControlError(
                'nothing is recorded: the simulation was made with record=False'
            )
        return self._recorded

    @property
    def body(self) -> Body:
        """The robot: its measured state, and the commands for it."""
        return self.loop.hardware.body

    @property
    def hardware(self) -> Hardware:
        """The simulated robot as the loop sees it; in MuJoCo it has `model` and `data`."""
        return self.loop.hardware

    @property
    def controller(self) -> Any:
        """The main controller, initialized; what a function has made, where one makes it."""
        self.begin()
        transition = self.loop.transition
        host = self.loop.host if transition is None else transition.new
        controller = host.controllers[0].controller
        return getattr(controller, 'made', controller)

    @property
    def has_ended(self) -> bool:
        """Whether it has failed, its controllers have finished, or it was asked to stop."""
        return self.loop.has_ended if self._is_begun else self.loop.has_no_next

    def begin(self) -> None:
        """Initialize and start the controllers, unless that was done.

        Raises:
            CnoidControlError: none of them wants to run, or the robot lacks what they need.
        """
        if not self._is_begun:
            self.loop.begin()
            self._is_begun = True

    def complete(self, duration: float, real_time: bool = False) -> RunOutcome:
        """Do a whole run, to the end, see `ControlLoop.run`; the controllers are stopped then.

        Ticks are taken in a thread of their own: a controller that never returns ends the run.
        """
        # Who pushes or swaps meanwhile must not begin it once more.
        self._is_begun = True
        try:
            return self.loop.run(duration, real_time)
        finally:
            self._is_begun = False

    def push(
        self,
        link: str,
        force: Sequence[float] | np.ndarray,
        duration: float,
        point: Sequence[float] | np.ndarray | None = None,
    ) -> None:
        """Push a link from the next tick on.

        Args:
            link: name of the link.
            force: world axes [N].
            duration: [s].
            point: where, in the link's frame [m]; its centre of mass where None.

        Raises:
            CnoidControlError: there is no such link, a value is not finite or has the wrong size,
                or nothing can push this kind of robot.
        """
        push = getattr(self.hardware, 'push', None)
        if push is None:
            raise CnoidControlError(f'hardware {self.hardware.name!r} cannot be pushed')
        names = [one.name for one in self.body.links]
        if link not in names:
            raise CnoidControlError(f'unknown link {link!r}; {choices(names)}')
        if not 0.0 < duration < np.inf:
            raise CnoidControlError(f'duration is {duration!r}; a time above 0 s was expected')
        place = None if point is None else _vector('point', point)
        self.begin()
        push(self.body.link(link), _vector('force', force), duration, place)
        if self.loop.recorder is not None:
            where = None if place is None else place.tolist()
            told = {'link': link, 'force': list(force), 'duration': duration, 'point': where}
            self.loop.recorder.note_event(PUSHES, json.dumps(told, default=float))

    def mailbox(self, name: str) -> Mailbox[Any]:
        """Mailbox of a controller by name: what is posted there comes as from a topic.

        Raises:
            CnoidControlError: no controller has such a mailbox.
        """
        self.begin()
        found = {
            key: mailbox for io in self.loop.host.ios() for key, mailbox in io.mailboxes.items()
        }
        if name not in found:
            raise CnoidControlError(f'no controller has a mailbox {name!r}; {choices(found)}')
        return found[name]

    def log(self, file: str | Path) -> None:
        """Record the run into a log file, as `cnoid_control run --log` does.

        Raises:
            CnoidControlError: the run has begun.
        """
        if self._is_begun or self.loop.tick:
            raise CnoidControlError(f'log {str(file)!r}: the run has begun; log it from its start')
        from cnoid_control.runtime.run_files import record_run

        record_run(file, self.loop, self.config)

    def sensor(self, key: str | int) -> SensorReading:
        """Sensor by name or number: 'q', 'dq', then every device of the robot in its order.

        It is measured from now on, whether a controller reads it or not.

        Raises:
            CnoidControlError: there is no such sensor, or nothing can measure it.
        """
        self.begin()
        body = self.body
        encoders = [
            SensorReading('q', lambda: np.array(body.q)),
            SensorReading('dq', lambda: np.array(body.dq)),
        ]
        devices = list(body.devices)
        names = [*(one.name for one in encoders), *(device.name for device in devices)]
        if isinstance(key, str) and key in names:
            key = names.index(key)
        if not isinstance(key, int) or not 0 <= key < len(names):
            raise unknown_sensor(key, names)
        if key < len(encoders):
            return encoders[key]
        self._measure(names[key])
        return SensorReading.of_device(devices[key - len(encoders)])

    def _measure(self, device: str) -> None:
        """Have the hardware measure a device too, from now on."""
        request = self.loop.host.request()
        if device in request.devices | self.loop.observed:
            return
        self.loop.observed.add(device)
        request.devices |= self.loop.observed
        self.hardware.open(request)

    def prepare_swap(
        self, controller: Any, options: Mapping[str, Any] | None, blend_time: float
    ) -> Transition:
        """Bring another controller up; it takes over with the next tick.

        Raises:
            CnoidControlError: it cannot; the present one goes on.
        """
        self.begin()
        self._settle()
        config, maker = load_source(self.config, controller, options)
        transition = self._swapper.begin(self._controllers(config, maker), blend_time)
        self._swap = transition.new, self.config, self._maker
        self.config, self._maker = config, maker
        return transition

    def _succeeded(self, host: ControllerHost, config: RunConfig) -> None:
        """Take note of controllers that take over by themselves."""
        self._settle()
        if host is not self.loop.host:
            self._swap = host, self.config, self._maker
        self.config, self._maker = config, None

    def _settle(self) -> None:
        """Take note where the controller before a swap has the robot again."""
        if self._swap is not None and self.loop.transition is None:
            host, config, maker = self._swap
            self._swap = None
            if host is not self.loop.host:
                self.config, self._maker = config, maker

    def confirm_swap(self, transition: Transition, before: RunConfig, maker: Maker | None) -> None:
        """See whether a swap has begun.

        Raises:
            CnoidControlError: it was aborted; the present controller goes on.
        """
        if transition.error is not None or transition.state not in BEGUN:
            self.config, self._maker = before, maker
            raise transition.error or CnoidControlError('the swap has not begun')

    @property
    def maker(self) -> Maker | None:
        """What makes the main controller; None where it is found by its name."""
        return self._maker

    def reset(self) -> None:
        """Go back to the start: same state, fresh controllers, empty records.

        Raises:
            CnoidControlError: this kind of robot cannot be set back.
        """
        hardware = self.hardware
        reset = getattr(hardware, 'reset', None)
        if reset is None:
            raise CnoidControlError(f'hardware {hardware.name!r} cannot be reset')
        self._settle()
        self.close()
        reset()
        # What controllers have left in the robot is gone.
        self.body.copy_state_from(self._pristine)
        self._make_loop(hardware)

    def restart(self, timeout: float = 60.0) -> None:
        """Go back to the start while `complete` runs: same state, fresh controllers.

        The safe state is left, and the robot's time begins anew; records, statistics and the
        count of ticks go on. From any thread but the loop's.

        Args:
            timeout: longest time that the controllers may take to be brought up [s].

        Raises:
            CnoidControlError: this kind of robot cannot be set back, or its controllers cannot be
                brought up; then it is held at the start.
        """
        hardware = self.hardware
        reset = getattr(hardware, 'reset', None)
        if reset is None:
            raise CnoidControlError(f'hardware {hardware.name!r} cannot be reset')

        def begin_anew() -> None:
            self._settle()
            loop = self.loop
            loop.abort_transition()
            old = loop.host
            reset()
            self.body.copy_state_from(self._pristine)
            try:
                new = self._swapper.bring_up(self._controllers(self.config, self._maker))
                loop.restart(new)
            except CnoidControlError as error:
                loop.safe_state.enter(str(error))
                raise
            old.end_beside()

        self.loop.call(begin_anew, timeout)

    def summary(self) -> RunSummary:
        """What has happened so far, as `cnoid_control run --json` prints it."""
        self._settle()
        if self.loop.trace is not None:
            self.loop.trace.flush()
        return RunSummary(summarize(self.config, self.loop, self.monitor, self.loop.outcome()))

    def close(self) -> None:
        """Stop the controllers; the records stay."""
        if self._is_begun:
            self.loop.close()
            self._is_begun = False

    def __repr__(self) -> str:
        where = f'{self.body.name!r} with {self.config.controller_name!r}'
        return f'<SimulatedRobot {self.name!r}: {where} at {self.hardware.time:g} s>'

    def _repr_html_(self) -> str:
        return side_by_side(html_image(self._repr_png_()), self.summary()._repr_html_())

    def _repr_png_(self) -> bytes | None:
        return draw_bodies([self.body])


def _vector(name: str, values: Sequence[float] | np.ndarray) -> np.ndarray:
    vector = np.asarray(values, dtype=float)
    if vector.shape != (3,) or not np.isfinite(vector).all():
        raise CnoidControlError(f'{name} is {values!r}; 3 finite values were expected')
    return vector
