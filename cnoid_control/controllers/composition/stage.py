"""SimpleControllers as blocks of a composition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cnoid_control.body import Link, StateFlag
from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.controllers.composition.controller import (
    ComposedParameters,
    CompositionController,
)
from cnoid_control.controllers.composition.exceptions import CompositionError
from cnoid_control.controllers.composition.link_commands import (
    KINDS,
    LINK_CHANNELS,
    enable_link,
    link_item,
    read_command,
)
from cnoid_control.controllers.composition.maker import Maker
from cnoid_control.controllers.composition.stage_io import StageIO
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin import ControllerConfig, ControllerIO, SimpleController
from cnoid_control.plugin.options import change_options, check_options
from cnoid_control.plugin.registry import find_object

JOINT_CHANNELS = StateFlag.JOINT_PID | StateFlag.HIGH_GAIN_ACTUATION
# Message items and body arrays that make up the command of a joint, by actuation mode.
ITEMS = {
    StateFlag.JOINT_EFFORT: (('torquecmd', 'u'), ('qref', 'q_target')),
    StateFlag.JOINT_DISPLACEMENT: (('qcmd', 'q_target'),),
    StateFlag.JOINT_VELOCITY: (('dqcmd', 'dq_target'),),
    StateFlag.JOINT_DISPLACEMENT | StateFlag.JOINT_VELOCITY: (
        ('qcmd', 'q_target'),
        ('dqcmd', 'dq_target'),
    ),
    StateFlag.JOINT_PID: (
        ('qcmd', 'q_target'),
        ('dqcmd', 'dq_target'),
        ('torquecmd', 'u'),
        ('kp', 'kp'),
        ('ki', 'ki'),
        ('kd', 'kd'),
    ),
}
ROOT_ITEMS = {'root_p': 'p', 'root_R': 'R', 'root_v': 'v', 'root_w': 'w'}


class SimpleControllerStage(BaseController):
    """Leads a SimpleController through a run of its own each time the stage is entered.

    'enter' initializes and starts it on the robot as it is then, 'exit' stops it. What it reads
    comes from the message where the message has it (`q`, `dq`, the root's pose), so that an
    estimator in front of it is believed, and from the robot otherwise.

    Attributes:
        name: name of the stage.
        controller: the controller.
    """

    def __init__(
        self,
        name: str,
        controller: SimpleController,
        options: Mapping[str, Any] | None = None,
        joints: Sequence[str] = (),
        folder: Path | None = None,
    ) -> None:
        """Take a controller in.

        Args:
            name: name of the stage.
            controller: the controller.
            options: its options.
            joints: joints that it may command; all that it does where empty.
            folder: folder that relative paths in its options start from.

        Raises:
            ParameterError: an option is not one of the controller's, or has a wrong value.
        """
        self.name = name
        self.controller = controller
        self.options = dict(options or {})
        self.joints = tuple(joints)
        self.folder = folder
        self.parameters = check_options(name, type(controller), self.options, folder)
        self._outer: ControllerIO | None = None
        self._io: StageIO | None = None
        self._running = False
        self._fresh = False
        self._done = False
        self._result: Message | None = None

    def describe(self) -> str:
        """Class of the controller."""
        return type(self.controller).__name__

    @property
    def finished(self) -> bool:
        """Whether control() returned False in the last tick."""
        return self._done

    # --- life cycle ---------------------------------------------------------------------------

    def attach(self, io: ControllerIO) -> None:
        """Find out what the controller reads and commands, and enable that on the robot.

        Raises:
            CompositionError: it cannot be configured or initialized, or its commands cannot be
                composed.
        """
        self._outer, self._io = io, None
        config = ControllerConfig(
            self.name,
            io.body.clone(),
            self.options,
            self.parameters,
            io.os,
            io.time_step,
            self.folder,
        )
        if not self.controller.configure(config):
            raise _refused(self.name, 'configure() returned False')
        inner = self._initialize()
        for name, flags in inner.inputs.items():
            io.enable_input(io.body.link(name), flags)
        for device in io.body.devices:
            if device.name in inner.device_inputs:
                io.enable_input(device)
            if device.name in inner.device_outputs:
                io.enable_output(device)
        for name in inner.outputs:
            link = inner.body.link(name)
            if (
                link.actuation_mode & ~(JOINT_CHANNELS | LINK_CHANNELS)
                or (_mode(link) and _mode(link) not in ITEMS)
                # Its servo would have the gains of nobody.
                or StateFlag.JOINT_PID | StateFlag.HIGH_GAIN_ACTUATION in link.actuation_mode
            ):
                raise _refused(
                    self.name,
                    f'commands {link.name!r} by {link.actuation_mode.label}, which cannot be '
                    'composed',
                )
            if link.actuation_mode & LINK_CHANNELS:
                enable_link(io, name, link.actuation_mode & LINK_CHANNELS)
            if _mode(link) and not (
                name in io.outputs and io.body.link(name).actuation_mode & JOINT_CHANNELS
            ):
                raise _refused(
                    self.name, f'commands {name!r}, which the composition does not drive'
                )
        self._fresh = True

    def update_options(self, options: Mapping[str, Any]) -> None:
        """Have the controller follow other options, now or when the stage is entered next.

        Raises:
            ParameterError: an option is wrong, or cannot change while running.
            Exception: the controller refuses them.
        """
        parameters = check_options(self.name, type(self.controller), options, self.folder)
        if self._io is not None:
            change_options(self.name, self.controller, self.parameters, parameters)
            self._io.set_options(options, parameters)
        self.options, self.parameters = dict(options), parameters

    def _initialize(self) -> StageIO:
        assert self._outer is not None
        inner = self._io
        if inner is None:
            inner = StageIO(self.name, self._outer, self.options, self.parameters)
        else:
            inner.renew()
        if not self.controller.initialize(inner):
            raise _refused(self.name, 'initialize() returned False')
        self._io = inner
        self._compile(inner)
        return inner

    def _compile(self, io: StageIO) -> None:
        """Find which joints are commanded through which items."""
        links = [io.body.link(name) for name in sorted(io.outputs)]
        if self.joints:
            allowed = [io.body.joint(name) for name in self.joints]
            links = [link for link in links if link in allowed]
        self._items: list[tuple[str, np.ndarray, np.ndarray]] = []
        for mode, items in ITEMS.items():
            joints = [link.joint_id for link in links if _mode(link) == mode]
            for item, array in items:
                if joints:
                    ids = np.array(joints, dtype=np.intp)
                    self._items.append((item, io.body.joint_arrays[array], ids))
        self._link_items = [
            (link_item(kind, link.name), kind, link)
            for link in links
            for kind, flag in KINDS.items()
            if link.actuation_mode & flag
        ]
        self._read_links = [
            (io.body.link(name), flags)
            for name, flags in io.inputs.items()
            if flags >= StateFlag.LINK_POSITION
        ]
        self._read_devices = [
            device for device in io.body.devices if device.name in io.device_inputs
        ]

    def signal(self, type: str, **inputs: Any) -> None:
        """Begin a run on 'enter', end it on 'exit'."""
        if type == 'enter':
            self._stop()
            # What attach() has initialized is good for a run that begins with the first tick.
            if not self._fresh or inputs.get('t', 0.0) > 0.0:
                self._initialize()
            self._fresh = False
            self._done, self._result = False, None
            if not self.controller.start():
                raise _refused(self.name, 'start() returned False')
            self._running = True
            assert self._io is not None
            self._io.send_devices()
        elif type == 'exit':
            self._stop()

    def _stop(self) -> None:
        if self._running:
            self.controller.stop()
            self._running = False
            assert self._io is not None
            self._io.send_devices()

    # --- the tick -----------------------------------------------------------------------------

    def output(self, **inputs: Any) -> Message | None:
        """Command of this tick; control() is called once per tick, by whichever comes first."""
        if self._result is None:
            self._result = self._control(inputs)
        return self._result

    def advance(self, **inputs: Any) -> None:
        """End the tick."""
        if self._result is None:
            self._result = self._control(inputs)
        self._result = None

    def _control(self, inputs: Message) -> Message:
        if not self._running:
            self.signal('enter', **inputs)
        assert self._io is not None
        self._take(self._io, inputs)
        self._done = not self.controller.control()
        self._io.send_devices()
        result: Message = {}
        for item, source, joints in self._items:
            if item not in result:
                result[item] = np.full(self._io.body.num_joints, np.nan)
            result[item][joints] = source[joints]
            if item == 'dqcmd':
                result['tcmd'] = np.inf
        for item, kind, link in self._link_items:
            result[item] = read_command(kind, link)
            if kind == 'wrench':
                # As everywhere, it is used up: what is not commanded again acts no more.
                link.F_ext[:] = 0.0
        return result

    def _take(self, io: StageIO, inputs: Message) -> None:
        io.current_time = inputs.get('t', io.outer.current_time)
        body, outer = io.body, io.outer.body
        for name in ('q', 'dq'):
            body.joint_arrays[name][:] = outer.joint_arrays[name]
            if name in inputs:
                getattr(body, name)[:] = inputs[name]
        body.ddq[:] = outer.ddq
        for link, flags in self._read_links:
            _copy_link(link, outer.links[link.index], flags)
        root = body.root_link
        for item, name in ROOT_ITEMS.items():
            if item in inputs:
                setattr(root, name, inputs[item])
        for device in self._read_devices:
            io.read_device(device)


def _mode(link: Link) -> StateFlag:
    """What the joint of a link is commanded by."""
    return link.actuation_mode & StateFlag.JOINT_PID


def _copy_link(target: Link, source: Link, flags: StateFlag) -> None:
    if flags & StateFlag.LINK_POSITION:
        target.R, target.p = source.R, source.p
    if flags & StateFlag.LINK_TWIST:
        target.v, target.w = source.v, source.w
    if flags & StateFlag.LINK_ACCELERATION:
        target.dv, target.dw = source.dv, source.dw
    if flags & StateFlag.LINK_CONTACT_STATE:
        target.contact_points = list(source.contact_points)


class FactoryController(BaseController):
    """What a function `make(robot, ...)` returns, as Klamp't's controller files have it.

    Attributes:
        controller: the controller; a block that does nothing before `attach`.
    """

    def __init__(self, name: str, maker: Maker, options: Any, joints: Sequence[str] = ()) -> None:
        """Take the function and its options; it is called with the robot's body in `attach`.

        Args:
            name: name of the part.
            maker: the function.
            options: its options, checked.
            joints: joints that a SimpleController may command; all that it does where empty.
        """
        self.name = name
        self.controller = BaseController()
        self._maker = maker
        self._options = options
        self._joints = joints

    def attach(self, io: ControllerIO) -> None:
        """Make the controller.

        Raises:
            ControllerLoadError: the function raised, or returned something else.
        """
        made = self._maker.make(io.body.clone(), self._options)
        if isinstance(made, SimpleController):
            made = SimpleControllerStage(self.name, made, {}, self._joints, io.folder)
        self.controller = made
        self.controller.attach(io)

    def children(self) -> Mapping[Any, BaseController]:
        """The controller that was made."""
        return {} if type(self.controller) is BaseController else {'made': self.controller}

    def describe(self) -> str:
        """Name of the function."""
        return f'{self._maker.found.__name__}()'

    @property
    def finished(self) -> bool:
        """Whether the controller is."""
        return self.controller.finished

    def output(self, **inputs: Any) -> Message | None:
        """Output of the controller."""
        return self.controller.output(**inputs)

    def advance(self, **inputs: Any) -> None:
        """Advance the controller."""
        self.controller.advance(**inputs)

    def output_and_advance(self, **inputs: Any) -> Message | None:
        """Output and advance the controller."""
        return self.controller.output_and_advance(**inputs)

    def signal(self, type: str, **inputs: Any) -> None:
        """Pass a signal on."""
        self.controller.signal(type, **inputs)


# Blocks that have a short name; they are parts of compositions only.
BLOCKS = {
    name: f'cnoid_control.controllers.estimators:{cls}'
    for name, cls in {
        'true_state': 'TrueStateEstimator',
        'encoder_estimator': 'EncoderEstimator',
        'base_estimator': 'BaseEstimator',
        'momentum_observer': 'MomentumObserver',
    }.items()
}


def make_stage(
    name: str,
    controller: str,
    options: Mapping[str, Any],
    joints: Sequence[str] = (),
    folder: Path | None = None,
) -> BaseController:
    """Part of a composition.

    Args:
        name: name of the part, for messages.
        controller: an entry point, `package.module:Class`, `file.py:Class` or one of the
            estimators; a SimpleController, a BaseController, or a function `make(robot, ...)` that
            returns one of both.
        options: its options.
        joints: joints that a SimpleController may command; all that it does where empty.
        folder: folder that relative paths start from; the working folder where None.

    Raises:
        ControllerLoadError: there is no such controller, or what was found is none.
        ParameterError: an option is wrong.
    """
    found = find_object(BLOCKS.get(controller, controller), folder)
    if isinstance(found, type) and issubclass(found, CompositionController):
        schema = found.Parameters or ComposedParameters
        return found.build(parse_parameters(schema, options, name, folder), folder)
    if isinstance(found, type) and issubclass(found, SimpleController):
        return SimpleControllerStage(name, found(), options, joints, folder)
    maker = Maker(controller, found)
    if maker.is_class:
        return maker.make_block(maker.parse(options, name, folder))
    return FactoryController(name, maker, maker.parse(options, name, folder), joints)


def _refused(name: str, reason: str) -> CompositionError:
    """The error about a controller inside a composition that cannot be used."""
    return CompositionError(f'{name}: {reason}')
