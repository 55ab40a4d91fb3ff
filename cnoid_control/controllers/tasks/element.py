"""What tasks and constraints have in common: a name, a switch, and parts of the same kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from cnoid_control.controllers.tasks.exceptions import (
    TaskError,
    duplicate_task,
    foreign_task,
    unknown_task,
)
from cnoid_control.controllers.tasks.strict import Strict
from cnoid_control.plugin.options import default_options

if TYPE_CHECKING:
    from cnoid_control.controllers.tasks.task_solver import Configuration, TaskSolver

ElementT = TypeVar('ElementT', bound='Element')


class Element(Strict):
    """A named part of a controller that can be switched off and can have parts of its own.

    Parts are visited only while the whole is enabled; each has its own switch besides. What is in
    bundles is visited only while one of these is enabled.

    Attributes:
        Parameters: dataclass of the options that a class has of its own; None for none.
        parameters: its options, an instance of `Parameters`; None where one must be given.
        name: name, unique where it was added.
        controller: controller that it belongs to; None before it was added.
        parent: task or constraint that it is a part of; None for none.
        parts: subtasks or subconstraints by name.
        configurations: bundles that it is in.
    """

    Parameters: ClassVar[type | None] = None
    element_kind: ClassVar[str]
    family: ClassVar[str]

    def __init__(self, name: str) -> None:
        """Make an enabled element without parts."""
        self.name = name
        self.controller: TaskSolver | None = None
        self.parent: Element | None = None
        self.parts: dict[str, Element] = {}
        self.parameters: Any = default_options(type(self))
        self.configurations: list[Configuration] = []
        self._enabled = True
        # Set whenever the element should start anew from the state of now.
        self.restart = True

    @property
    def is_enabled(self) -> bool:
        """Whether its own switch is on."""
        return self._enabled

    def enable(self) -> None:
        """Switch it on; it starts anew from the state of now."""
        if not self._enabled:
            self._enabled = True
            for element in self.everything():
                element.restart = True
            self._changed()

    def disable(self) -> None:
        """Switch it, and with it all its parts, off."""
        self._enabled = False
        self._changed()

    def update_parameters(self, old: Any, new: Any) -> None:
        """Follow options of one's own that change while running, as those of a controller.

        To override this is to say that they are followed: because the element reads `parameters`
        in every tick, or because the override applies them. Else every change is refused.

        Args:
            old: the options in force, an instance of `Parameters`.
            new: what they are to be, checked; `parameters` from when this has returned.
        """

    @property
    def is_in_force(self) -> bool:
        """Whether no bundle keeps it off."""
        return not self.configurations or any(one.is_enabled for one in self.configurations)

    def add_part(self, element: ElementT) -> ElementT:
        """Add a subtask to a task, or a subconstraint to a constraint.

        Raises:
            TaskError: it is of the other kind, is on a controller or part of something already,
                or a part has that name.
        """
        if element.element_kind != self.element_kind:
            raise TaskError(
                f'{element.element_kind} {element.name!r} cannot be part of the '
                f'{self.element_kind} {self.name!r}'
            )
        if element.controller is not None or element.parent is not None:
            raise foreign_task(self.element_kind, element.name)
        if self in element.everything():
            raise TaskError(f'{self.element_kind} {element.name!r} cannot be part of itself')
        if element.name in self.parts:
            raise duplicate_task(f'sub{self.element_kind}', element.name)
        self.parts[element.name] = element
        element.parent = self
        for part in element.everything():
            part.controller = self.controller
            part.restart = True
        self._changed()
        return element

    def remove_part(self, name: str) -> Element:
        """Take a part away.

        Raises:
            TaskError: there is none of that name.
        """
        if name not in self.parts:
            raise unknown_task(f'sub{self.element_kind}', name, self.parts)
        element = self.parts.pop(name)
        element.parent = None
        for part in element.everything():
            part.controller = None
        self._changed()
        return element

    def _changed(self) -> None:
        if self.controller is not None:
            self.controller.forget_active()

    def everything(self) -> Iterator[Element]:
        """The element and all its parts, to any depth."""
        yield self
        for part in self.parts.values():
            yield from part.everything()

    def active(self) -> Iterator[Element]:
        """The element and its parts as far as they are enabled."""
        if self._enabled and self.is_in_force:
            yield self
            for part in self.parts.values():
                yield from part.active()

    def __repr__(self) -> str:
        """Class and name."""
        return f'{type(self).__name__}({self.name!r})'
