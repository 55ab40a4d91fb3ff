"""What a page is fed by, whatever is on the other end."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any, Protocol

from cnoid_control.body import Body
from cnoid_control.runtime.config import RunConfig
from cnoid_control.viewer.frame import Frame

# What can be asked of a source, with its arguments:
#   swap(controller), pause(), resume(), step(count), reset(), estop(), speed(value),
#   push(link, force, duration, point), option(key, value), velocity(x, y, yaw)
ACTIONS = (
    'swap',
    'pause',
    'resume',
    'step',
    'reset',
    'estop',
    'speed',
    'push',
    'option',
    'velocity',
)


@dataclass
class Option:
    """An option of the controller that has the robot.

    Attributes:
        key: its key, 'tasks.hand.weight' for a nested one.
        value: its value, as YAML has it.
        kind: 'bool', 'int', 'float', 'text', or 'yaml' for lists and maps.
        description: one line on what it does.
        unit: may be empty.
        minimum, maximum: range of a number; None for no bound.
        choices: the values allowed; empty for any.
        refusal: why it cannot change now; empty where it can.
    """

    key: str
    value: Any
    kind: str = 'yaml'
    description: str = ''
    unit: str = ''
    minimum: float | None = None
    maximum: float | None = None
    choices: list[Any] = field(default_factory=list)
    refusal: str = ''


@dataclass
class Description:
    """What changes seldom: a frame's `revision` is another one when it has changed.

    Attributes:
        title: what is shown, in a few words.
        controller: the controller that has the robot.
        controllers: those that can take over.
        options: options of the controller.
        refusals: why an action is not possible here, by action; those that are possible are not
            in it.
        links: names of the links that can be pushed.
        speed: wanted speed of simulated time; 0 for as fast as possible.
    """

    title: str = ''
    controller: str = ''
    controllers: list[str] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    refusals: dict[str, str] = field(default_factory=dict)
    links: list[str] = field(default_factory=list)
    speed: float = 1.0

    def to_json(self) -> dict[str, Any]:
        """The same in what JSON has."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Description:
        """Description of what `to_json` has made."""
        options = [Option(**option) for option in values['options']]
        return cls(**{**values, 'options': options})


class Source(Protocol):
    """A run, a running ROS system or a log, as a page sees it.

    Attributes:
        body: the robot that is shown; the page's own, whose state frames are put into.
        config: the configuration, for what is around the robot; None where there is none.
    """

    body: Body
    config: RunConfig | None

    def frame(self) -> Frame | None:
        """The newest frame; the same object again where nothing has happened since."""

    def describe(self) -> Description:
        """What can be done, and how things are named; may take a while."""

    def act(self, action: str, **arguments: Any) -> str:
        """Do something; returns what came of it.

        Raises:
            CnoidControlError: it is refused, with the reason.
        """

    def close(self) -> None:
        """Let go of the other end."""
