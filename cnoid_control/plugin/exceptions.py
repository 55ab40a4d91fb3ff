"""What can be wrong with a controller: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

from cnoid_control.exceptions import CnoidControlError, choices


class ControllerError(CnoidControlError):
    """A controller cannot be used as it is."""


class ControllerLoadError(ControllerError):
    """A controller class cannot be found or loaded."""


class UnknownController(ControllerLoadError):
    """A controller name that nothing is registered under."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        """Name the controller, those that exist and the other forms of a name."""
        super().__init__(
            f'unknown controller {name!r}; {choices(known)}; '
            "or give 'package.module:Class' or 'path/to/file.py:Class'"
        )


class UnknownControllerClass(ControllerLoadError):
    """A module or file that does not have the class asked for."""

    def __init__(self, source: str, name: str, known: Iterable[str]) -> None:
        """Name the source, the class and the controllers that it has."""
        super().__init__(f'{source} has no class {name!r}; {choices(known)}')


class NotAController(ControllerLoadError):
    """Something that is not a class derived from SimpleController."""

    def __init__(self, name: str, found: object) -> None:
        """Name what was asked for and what is there."""
        super().__init__(
            f'{name!r} is {found!r}, which is not a class derived from SimpleController'
        )


class ControllerImportError(ControllerLoadError):
    """A module that fails to import."""

    def __init__(self, name: str, traceback: str) -> None:
        """Name the controller and show where its import failed."""
        super().__init__(f'controller {name!r} cannot be imported:\n{traceback.rstrip()}')


class ForeignLink(ControllerError):
    """A link or device of another body than the one that is controlled."""

    def __init__(self, item: object, controller: str) -> None:
        """Name the link or device and the controller that enabled it."""
        super().__init__(
            f'controller {controller!r} enabled {item!r}, which is not of io.body; '
            'links and devices of config.body or of a clone carry no input or output'
        )


class MailboxConflict(ControllerError):
    """One mailbox name used for two kinds of messages."""

    def __init__(self, name: str, first: type, second: type) -> None:
        """Name the mailbox and both kinds."""
        super().__init__(f'mailbox {name!r} takes {first.__name__} already, not {second.__name__}')


class MailboxNotATopic(ControllerError):
    """A mailbox that no ROS topic can feed."""

    def __init__(self, name: str, topic: str) -> None:
        """Name the mailbox, the topic and the rule that it breaks."""
        super().__init__(
            f'mailbox {name!r}: {topic!r} is no topic name; it consists of letters, digits and '
            "underscores, in parts that '/' separates and that no digit begins, and may begin "
            "with '~/' or '/'"
        )
