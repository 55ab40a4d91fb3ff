"""The eighteen events of a task controller: what was added or removed, by family."""

from __future__ import annotations

from cnoid_control.body.signal import Signal

FAMILIES = ('generic', 'joint', 'body')
KINDS = ('task', 'constraint', 'configuration')
EVENTS = ('added', 'removed')


class TaskCallbacks:
    """One signal an event, named `<family>_<kind>_<event>`; each is emitted with the element.

    Connect to them (`controller.body_task_added.connect(function)`) to follow what happens to a
    controller.
    """

    generic_task_added: Signal
    generic_task_removed: Signal
    generic_constraint_added: Signal
    generic_constraint_removed: Signal
    generic_configuration_added: Signal
    generic_configuration_removed: Signal
    joint_task_added: Signal
    joint_task_removed: Signal
    joint_constraint_added: Signal
    joint_constraint_removed: Signal
    joint_configuration_added: Signal
    joint_configuration_removed: Signal
    body_task_added: Signal
    body_task_removed: Signal
    body_constraint_added: Signal
    body_constraint_removed: Signal
    body_configuration_added: Signal
    body_configuration_removed: Signal

    def __init__(self) -> None:
        """Make all signals."""
        for family in FAMILIES:
            for kind in KINDS:
                for event in EVENTS:
                    setattr(self, f'{family}_{kind}_{event}', Signal())

    def emit(self, family: str, kind: str, event: str, element: object) -> None:
        """Emit the signal of an event."""
        getattr(self, f'{family}_{kind}_{event}')(element)
