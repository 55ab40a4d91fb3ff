"""The controllers that a controller_manager would have loaded, and how they are switched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from cnoid_control.body.channels import DRIVE_MODES, channels_of, mode_of
from cnoid_control.exceptions import choices

# controller_manager_msgs/SwitchController
BEST_EFFORT = 1
STRICT = 2

FORWARD_TYPE = 'forward_command_controller/ForwardCommandController'


@dataclass
class SimulatedController:
    """One controller as controller_manager lists it.

    Attributes:
        name: name, also of its node.
        type: type name, as in a controller_manager's parameter file.
        interface: command interface of a forward controller; empty for a broadcaster.
        joints: joints that it commands, in the order of its messages.
        state_interfaces: what a broadcaster reads.
        parameters: parameters of its node.
        active: whether it runs.
        configured: whether it is configured; one that was cleaned up is not.
        followers: controllers that take their references from it while it runs.
    """

    name: str
    type: str
    interface: str = ''
    joints: tuple[str, ...] = ()
    state_interfaces: tuple[str, ...] = ()
    parameters: dict[str, Any] = field(default_factory=dict)
    active: bool = False
    configured: bool = True
    followers: tuple[str, ...] = ()

    @property
    def state(self) -> str:
        """Name of its life-cycle state."""
        if not self.configured:
            return 'unconfigured'
        return 'active' if self.active else 'inactive'

    @property
    def command_interfaces(self) -> list[str]:
        """Names of the command interfaces that it needs."""
        if not self.interface:
            return []
        return [f'{joint}/{self.interface}' for joint in self.joints]


def forward_controller(name: str, interface: str, joints: Sequence[str]) -> SimulatedController:
    """Controller that passes commands on to the joints."""
    return SimulatedController(
        name,
        FORWARD_TYPE,
        interface,
        tuple(joints),
        parameters={'joints': list(joints), 'interface_name': interface},
    )


class SwitchResult(NamedTuple):
    """Whether a switch was made, and why not."""

    ok: bool
    message: str


class SimulatedControllers:
    """Controllers by name, switched by the rules of controller_manager.

    One rule is added that a robot with one drive per joint has to have: a joint is commanded
    through the interfaces of one actuation mode: position, velocity or effort, position and
    velocity with or without effort, or these three with stiffness and damping.
    """

    def __init__(
        self, controllers: Iterable[SimulatedController], default_strictness: int = STRICT
    ) -> None:
        """Load controllers; those marked active run.

        Args:
            controllers: the controllers.
            default_strictness: strictness where a request names none: BEST_EFFORT in Jazzy and
                Kilted, STRICT from Lyrical on.
        """
        self._default_strictness = default_strictness
        self._controllers = {controller.name: controller for controller in controllers}

    def __iter__(self) -> Any:
        """Controllers in the order in which they were given."""
        return iter(self._controllers.values())

    def __getitem__(self, name: str) -> SimulatedController:
        """Controller of that name."""
        return self._controllers[name]

    @property
    def active_forward(self) -> list[SimulatedController]:
        """Controllers that command joints now."""
        return [c for c in self._controllers.values() if c.active and c.interface]

    def switch(
        self, activate: Sequence[str], deactivate: Sequence[str], strictness: int
    ) -> SwitchResult:
        """Deactivate and activate controllers in one go.

        With STRICT nothing changes unless all of it can be done; otherwise what cannot be done
        is left out. Two controllers that want one joint are refused either way, and so is a list
        of which no name is known.
        """
        # Others than these two are not implemented by any manager: best effort is made.
        strict = (strictness or self._default_strictness) == STRICT
        problems = self._problems(activate, deactivate)
        known = self._controllers.keys()
        is_strange = any(names and known.isdisjoint(names) for names in (activate, deactivate))
        if problems and (strict or is_strange):
            return SwitchResult(False, '; '.join(problems))
        stopping = {n for n in deactivate if n in self._controllers and self[n].active}
        starting = [
            n
            for n in dict.fromkeys(activate)
            if n in self._controllers
            and self[n].configured
            and (not self[n].active or n in stopping)
        ]
        conflict = self._conflict(starting, stopping)
        if conflict:
            return SwitchResult(False, conflict)
        for name in stopping:
            self[name].active = False
        for name in starting:
            self[name].active = True
        return SwitchResult(True, '; '.join(problems))

    def fail(self, name: str) -> list[str]:
        """Deactivate a controller that has failed, and the whole chain that it is in.

        Returns:
            Names of the controllers that were active.
        """
        chain = [name]
        for member in chain:
            before = [one.name for one in self if member in one.followers]
            chain += [one for one in (*self[member].followers, *before) if one not in chain]
        stopped = [member for member in chain if self[member].active]
        for member in stopped:
            self[member].active = False
        return stopped

    def is_chained(self, name: str) -> bool:
        """Whether a controller takes its references from another one now."""
        return any(one.active and name in one.followers for one in self)

    def clean_up(self, name: str) -> SwitchResult:
        """Bring a controller back to where it was loaded; one that is active is refused."""
        return self._configure(name, False)

    def configure(self, name: str) -> SwitchResult:
        """Configure a controller, anew if it is inactive; one that is active is refused."""
        return self._configure(name, True)

    def _configure(self, name: str, configured: bool) -> SwitchResult:
        if name not in self._controllers:
            return SwitchResult(False, self._not_loaded(name))
        if self[name].active:
            return SwitchResult(False, f'controller {name!r} is active')
        self[name].configured = configured
        return SwitchResult(True, '')

    def _not_loaded(self, name: str) -> str:
        return f'controller {name!r} is not loaded; {choices(self._controllers)}'

    def _problems(self, activate: Sequence[str], deactivate: Sequence[str]) -> list[str]:
        problems = []
        for name in (*activate, *deactivate):
            if name not in self._controllers:
                problems.append(self._not_loaded(name))
        for name in activate:
            if name in self._controllers and not self[name].configured:
                problems.append(f'controller {name!r} is unconfigured')
            if name in self._controllers and self[name].active and name not in deactivate:
                problems.append(f'controller {name!r} is active already')
        for name in deactivate:
            if name in self._controllers and not self[name].active:
                problems.append(f'controller {name!r} is not active')
        return problems

    def _conflict(self, starting: Sequence[str], stopping: set[str]) -> str:
        # For each joint, who commands it through which interface.
        owners: dict[str, dict[str, str]] = {}
        for controller in self._controllers.values():
            if controller.active and controller.name not in stopping and controller.interface:
                for joint in controller.joints:
                    owners.setdefault(joint, {})[controller.interface] = controller.name
        new: dict[str, str] = {}
        for name in starting:
            controller = self[name]
            for joint in controller.joints if controller.interface else ():
                owned = owners.setdefault(joint, {})
                if controller.interface in owned:
                    return _refusal(joint, name, owned[controller.interface])
                owned[controller.interface] = new[joint] = name
        for joint, name in new.items():
            interfaces = owners[joint]
            if mode_of(interfaces) is not None:
                continue
            others = [one for one in interfaces.values() if one not in starting]
            if others:
                return _refusal(joint, name, others[0])
            return (
                f'joint {joint!r} cannot be commanded through {", ".join(interfaces)} alone; '
                f'{choices(_MODES)}'
            )
        return ''


_MODES = [
    ' + '.join(channel.interface for channel in channels_of(mode) if channel.interface)
    for mode in DRIVE_MODES
]


def _refusal(joint: str, name: str, other: str) -> str:
    return (
        f'joint {joint!r} cannot be commanded by {name!r}: {other!r} commands it; name that one '
        'to be deactivated'
    )
