"""Tasks and constraints that come and go together."""

from __future__ import annotations

from dataclasses import dataclass, field

from cnoid_control.controllers.tasks.constraints import Constraint
from cnoid_control.controllers.tasks.task import Task


@dataclass
class Configuration:
    """A bundle: adding or removing it adds or removes all that is in it.

    Attributes:
        name: name, unique on the controller.
        family: what it is about: generic, joint or body.
        tasks: tasks in it.
        constraints: constraints in it.
    """

    name: str
    family: str = 'generic'
    tasks: list[Task] = field(default_factory=list)
    constraints: list[Constraint] = field(default_factory=list)
