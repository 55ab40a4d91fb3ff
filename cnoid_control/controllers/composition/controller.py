"""CompositionController: a composition as a controller."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from cnoid_control.body import StateFlag
from cnoid_control.controllers.composition.base_controller import BaseController, Message
from cnoid_control.controllers.composition.command_message import COMMANDS, CommandInterpreter
from cnoid_control.controllers.composition.exceptions import composition_cycle
from cnoid_control.controllers.composition.link_commands import LinkCommands
from cnoid_control.controllers.drive import DriveParameters, JointDrive
from cnoid_control.controllers.drive.laws import refuse_unused
from cnoid_control.controllers.sensor_reading import SensorReading, chosen_devices
from cnoid_control.exceptions import choices
from cnoid_control.parameters import parameter, refuse_other_names
from cnoid_control.plugin import ControllerIO, SimpleController

ROOT_STATE = StateFlag.LINK_POSITION | StateFlag.LINK_TWIST


@dataclass
class ComposedParameters(DriveParameters):
    """What a composed controller drives and reads."""

    sensors: list[str] = parameter(
        [], "devices to put into the messages; 'all' for every one", read_only=True
    )
    read_root: bool = parameter(
        False, "whether messages have the root's true pose and motion", read_only=True
    )
    links: dict[str, str] = parameter(
        {},
        "what messages command of links, by link name: 'pose', 'twist' or 'wrench'; what a part "
        'that is a SimpleController commands needs no mention',
        read_only=True,
    )


class CompositionController(SimpleController):
    """Adapter: a BaseController as a SimpleController.

    Every tick it makes the message of inputs (see `BaseController`), has the controller answer
    it, and commands the joints by the answer. The root's pose and motion are `root_p`, `root_R`,
    `root_v` and `root_w`, measured efforts are `u`; both only where somebody reads them.
    The run is over when the controller is finished.

    Attributes:
        composition: the controller.
    """

    Parameters: ClassVar[type | None] = ComposedParameters
    # Option that holds the parts by name.
    parts_key: ClassVar[str] = 'stages'

    def __init__(self, composition: BaseController | None = None) -> None:
        """Take the controller to run; subclasses may make it from the options instead."""
        self._given = composition

    @classmethod
    def build(cls, parameters: Any, folder: Path | None = None) -> BaseController:
        """Make the controller from the options; no robot is needed for that.

        Args:
            parameters: the options, checked.
            folder: folder that relative paths in options of parts start from.
        """
        return BaseController()

    def initialize(self, io: ControllerIO) -> bool:
        """Build the controller, enable what it needs and hold the position."""
        self.io = io
        parameters: ComposedParameters = io.parameters or ComposedParameters()
        self.composition = self._given or self.build(parameters, io.folder)
        check_tree(self.composition)
        self._drive = JointDrive(io, self._driven(parameters))
        self.composition.attach(io)
        self._commands = CommandInterpreter(self._drive, io.body.num_joints)
        self._links = LinkCommands(io, parameters.links)
        self._reads_root = parameters.read_root
        if self._reads_root:
            io.enable_input(io.body.root_link, ROOT_STATE)
        for device in chosen_devices(io.body, parameters.sensors):
            io.enable_input(device)
        self._sensors = [
            SensorReading.of_device(device)
            for device in io.body.devices
            if device.name in io.device_inputs
        ]
        self._reads_effort = any(flags & StateFlag.JOINT_EFFORT for flags in io.inputs.values())
        self._is_told = False
        self._begun = False
        self._machines = list(_with_states(self.composition, 'state'))
        self._states: dict[str, str] = {}
        return True

    def update_parameters(self, old: Any, new: Any) -> None:
        """Use new gains, and pass changed options of parts on to them: all of them, or none.

        Raises:
            ParameterError: an option cannot change while running.
            CompositionError: a part cannot follow its options.
        """
        refuse_unused(old, new)
        gains = self._drive.find_gains(new)
        before, after = self.part_options(old), self.part_options(new)
        refuse_other_names(self.parts_key, before, after)
        parts = self.composition.children()
        done: list[str] = []
        try:
            for name, options in after.items():
                if options != before[name]:
                    parts[name].update_options(options)
                    done.append(name)
        except Exception:
            for name in reversed(done):
                parts[name].update_options(before[name])
            raise
        self._commands.set_gains(gains)

    @staticmethod
    def part_options(parameters: Any) -> dict[str, Mapping[str, Any]]:
        """Options of the parts by name; a composition that is made in Python has none."""
        return {}

    @staticmethod
    def _driven(parameters: ComposedParameters) -> DriveParameters:
        return DriveParameters(
            parameters.joints,
            parameters.actuators,
            parameters.kp,
            parameters.ki,
            parameters.kd,
        )

    def inputs(self) -> Message:
        """Message of inputs for the present tick."""
        body = self.io.body
        message: Message = {
            't': self.io.current_time,
            'dt': self.io.time_step,
            'q': body.q.copy(),
            'dq': body.dq.copy(),
            'qcmd': body.q_target.copy(),
            'dqcmd': body.dq_target.copy(),
        }
        if self._reads_effort:
            message['u'] = body.u.copy()
        for sensor in self._sensors:
            message[sensor.name] = sensor.measurements
        if self._reads_root:
            root = body.root_link
            message['root_p'], message['root_R'] = root.p.copy(), root.R.copy()
            message['root_v'], message['root_w'] = root.v.copy(), root.w.copy()
        return message

    def control(self) -> bool:
        """Answer the message of this tick and command the joints."""
        inputs = self.inputs()
        if not self._begun:
            self._begun = True
            self.composition.signal('enter', **inputs)
        for name, machine in self._machines:
            if self._states.get(name) != (state := machine.active_state):
                self._states[name] = state
                self.io.log(name, state)
        answer = self.composition.output_and_advance(**inputs)
        if answer and not self._is_told:
            self._tell_what_commands_nothing(answer)
        self._commands.take(answer, self.io.current_time)
        self._links.take(answer)
        self._drive.write(self.io.time_step)
        return not self.composition.finished

    def _tell_what_commands_nothing(self, answer: Message) -> None:
        """Say once that a message has no key that a joint, a link or a device follows."""
        if any(key in COMMANDS or '/' in key for key in answer):
            return
        self._is_told = True
        print(
            f'{self.io.controller_name}: the outputs {", ".join(answer)} command nothing; '
            f'{choices(COMMANDS)}',
            file=self.io.os,
        )

    def stop(self) -> None:
        """Leave the active states."""
        if self._begun:
            self.composition.signal('exit', **self.inputs())
            self._begun = False


def _with_states(block: BaseController, name: str) -> Iterator[tuple[str, BaseController]]:
    """Blocks of a tree that are in one of several states, each with its name in the log."""
    if block.active_state:
        yield name, block
    for key, child in block.children().items():
        yield from _with_states(child, f'{key}/{name}')


def check_tree(root: BaseController) -> None:
    """Make sure that no controller contains itself.

    Raises:
        CompositionError: one does.
    """

    def visit(controller: BaseController, above: list[BaseController]) -> None:
        if any(controller is one for one in above):
            raise composition_cycle([one.describe() for one in [*above, controller]])
        for child in controller.children().values():
            visit(child, [*above, controller])

    visit(root, [])
