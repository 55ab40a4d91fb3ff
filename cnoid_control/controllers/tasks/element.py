"""What tasks and constraints have in common: a name, a switch, and parts of the same kind."""

from __future__ import annotations

import abc
from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, TypeVar

from cnoid_control.controllers.tasks.exceptions import (
    TaskError,
    duplicate_task,
    foreign_task,
    unknown_task,
)

if TYPE_CHECKING:
    from cnoid_control.controllers.tasks.task_solver import TaskSolver

ElementT = TypeVar('ElementT', bound='Element')


class Element(abc.ABC):
    """A named part of a controller that can be switched off and can have parts of its own.

    Parts are visited only while the whole is enabled; each has its own switch besides.

    Attributes:
        name: name, unique where it was added.
        controller: controller that it belongs to; None before it was added.
        parent: task or constraint that it is a part of; None for none.
        parts: subtasks or subconstraints by name.
    """

    element_kind: ClassVar[str]
    family: ClassVar[str]

    def __init__(self, name: str) -> None:
        """Make an enabled element without parts."""
        self.name = name
        self.controller: TaskSolver | None = None
        self.parent: Element | None = None
        self.parts: dict[str, Element] = {}
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
        if self._enabled:
            yield self
            for part in self.parts.values():
                yield from part.active()

    def __repr__(self) -> str:
        """Class and name."""
        return f'{type(self).__name__}({self.name!r})'
