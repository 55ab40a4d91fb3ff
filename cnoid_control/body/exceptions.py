"""What can be wrong with a robot model: one class per fact."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from cnoid_control.exceptions import CnoidControlError, choices


class ModelError(CnoidControlError):
    """A robot model cannot be used as it is."""

    def __init__(self, message: str, source: str = '') -> None:
        """Prefix the message with the model file (or model name) it is about.

        Args:
            message: what is wrong, naming the element and its value.
            source: file or model the message is about.
        """
        self.source = source
        super().__init__(f'{source}: {message}' if source else message)


class ModelFileNotFound(ModelError):
    """A model file that cannot be read."""

    def __init__(self, path: str, reason: str) -> None:
        """Name the file and why it cannot be read."""
        super().__init__(f'cannot be read: {reason}', path)


class ModelFileNotWritten(ModelError):
    """A model file that cannot be written."""

    def __init__(self, path: str, reason: str) -> None:
        """Name the file and why it cannot be written."""
        super().__init__(f'cannot be written: {reason}', path)


class UnknownModelFormat(ModelError):
    """A file whose suffix no loader reads."""

    def __init__(self, path: str, known: Iterable[str]) -> None:
        """Name the file and the suffixes that are read."""
        super().__init__(f'unknown model format; {choices(known)}', path)


class InvalidXml(ModelError):
    """A file that is not the XML it should be."""

    def __init__(self, reason: str, source: str = '') -> None:
        """Say what is wrong and where."""
        super().__init__(f'is not XML that can be read: {reason}', source)


class InvalidYaml(ModelError):
    """A file that is not the YAML it should be."""

    def __init__(self, reason: str, source: str = '') -> None:
        """Say what is wrong and where."""
        super().__init__(f'is not YAML that can be read: {reason}', source)


class NestingTooDeep(ModelError):
    """A model file whose elements are nested deeper than any robot needs."""

    def __init__(self, limit: int, source: str = '') -> None:
        """Name the limit."""
        super().__init__(f'elements are nested more than {limit} deep', source)


class TooManyElements(ModelError):
    """A model file that unfolds to more elements than any robot needs."""

    def __init__(self, limit: int, source: str = '') -> None:
        """Name the limit."""
        super().__init__(f'aliases unfold to more than {limit} elements', source)


class RecursiveSubBody(ModelError):
    """A model that is a part of itself."""

    def __init__(self, path: str, source: str = '') -> None:
        """Name the file that leads back to itself."""
        super().__init__(f'sub body {path} is a part of itself', source)


class UnsupportedElement(ModelError):
    """An element of a model format that exists but is not read here."""

    def __init__(self, element: str, kind: str, source: str = '') -> None:
        """Name the element and its type."""
        super().__init__(f'{element}: {kind!r} is not supported', source)


class MissingValue(ModelError):
    """Something that an element must say and does not."""

    def __init__(self, element: str, key: str, source: str = '') -> None:
        """Name the element and what it lacks."""
        super().__init__(f'{element} lacks {key!r}', source)


class InvalidValue(ModelError):
    """A value that is not of the kind expected."""

    def __init__(
        self, element: str, key: str, value: object, expected: str, source: str = ''
    ) -> None:
        """Name the element, the key, the value and what was expected."""
        super().__init__(f'{element}: {key} is {value!r}; expected {expected}', source)


class UnknownJointType(ModelError):
    """A joint type that does not exist, or not at that place of the tree."""

    def __init__(self, joint: str, kind: object, known: Iterable[str], source: str = '') -> None:
        """Name the joint, the type and the types that exist."""
        super().__init__(f'joint {joint!r} has unknown type {kind!r}; {choices(known)}', source)


class UnknownDeviceType(ModelError):
    """A device type that does not exist."""

    def __init__(self, device: str, kind: object, known: Iterable[str], source: str = '') -> None:
        """Name the device, the type and the types that exist."""
        super().__init__(f'device {device!r} has unknown type {kind!r}; {choices(known)}', source)


class UnknownHardware(ModelError):
    """A name that stands for no ros2_control hardware."""

    def __init__(self, hardware: str, known: Iterable[str]) -> None:
        """Name it, and the names that exist."""
        super().__init__(f'unknown hardware {hardware!r}; {choices(known)}')


class UnknownGeometry(ModelError):
    """A geometry type that does not exist."""

    def __init__(self, link: str, kind: object, known: Iterable[str], source: str = '') -> None:
        """Name the link, the type and the types that exist."""
        super().__init__(f'link {link!r} has unknown geometry {kind!r}; {choices(known)}', source)


class MeshNotFound(ModelError):
    """A mesh file that is not there."""

    def __init__(self, link: str, uri: str, path: str, source: str = '') -> None:
        """Name the link, the address in the model and the file it stands for."""
        super().__init__(f'link {link!r}: mesh {uri!r} is not there ({path})', source)


class PackageNotFound(ModelError):
    """A package:// address of a package that is not installed."""

    def __init__(self, package: str, searched: Iterable[object], source: str = '') -> None:
        """Name the package and the folders searched."""
        listed = ', '.join(str(folder) for folder in searched)
        super().__init__(f'package {package!r} is not found; searched: {listed}', source)


class PathOutsidePackage(ModelError):
    """An address that leads out of the package that it names or belongs to."""

    def __init__(self, uri: str, folder: object, source: str = '') -> None:
        """Name the address and the folder it may not leave."""
        super().__init__(f'{uri!r} leads out of {folder}', source)


class UnknownLink(ModelError):
    """A link name that the model does not have."""

    def __init__(self, name: object, known: Iterable[str], source: str = '') -> None:
        """Name the link and the links that exist."""
        self.name = name
        super().__init__(f'unknown link {name!r}; {choices(known)}', source)


class UnknownJoint(ModelError):
    """A joint name or id that the model does not have."""

    def __init__(self, name: object, known: Iterable[str], source: str = '') -> None:
        """Name the joint and the joints that exist."""
        self.name = name
        super().__init__(f'unknown joint {name!r}; {choices(known)}', source)


class UnknownJointGroup(ModelError):
    """A joint group that the body does not have."""

    def __init__(self, name: str, known: Iterable[str], source: str = '') -> None:
        """Name the group and the groups that exist."""
        super().__init__(f'unknown joint group {name!r}; {choices(known)}', source)


class UnknownParent(ModelError):
    """A link whose parent link does not exist."""

    def __init__(self, link: str, parent: str, known: Iterable[str], source: str = '') -> None:
        """Name the link, the parent that was asked for and the links that exist."""
        super().__init__(f'link {link!r} has unknown parent {parent!r}; {choices(known)}', source)


class KinematicCycle(ModelError):
    """Links that are each other's ancestors."""

    def __init__(self, links: Iterable[str], source: str = '') -> None:
        """Name the links that cannot be reached from a root."""
        super().__init__(f'links in a cycle: {", ".join(links)}', source)


class RootLinkError(ModelError):
    """A model with no root link, or with more than one."""

    def __init__(self, roots: Iterable[str], source: str = '') -> None:
        """List the links that have no parent."""
        listed = ', '.join(roots) or 'none'
        super().__init__(
            f'a model needs exactly one root link; without a parent: {listed}', source
        )


class DuplicateName(ModelError):
    """Two elements of one kind with the same name."""

    def __init__(self, kind: str, name: str, source: str = '') -> None:
        """Name the kind of element and the name used twice."""
        super().__init__(f'two {kind}s are named {name!r}', source)


class DuplicateJointId(ModelError):
    """A joint id that two joints claim."""

    def __init__(self, joint_id: int, first: str, second: str, source: str = '') -> None:
        """Name the id and both joints."""
        super().__init__(f'joint id {joint_id} is used by {first!r} and by {second!r}', source)


class InvalidMass(ModelError):
    """A mass that is negative or not finite."""

    def __init__(self, link: str, mass: float, source: str = '') -> None:
        """Name the link and the mass [kg]."""
        super().__init__(f'link {link!r} has mass {mass}; it must be finite and >= 0', source)


class InvalidInertia(ModelError):
    """An inertia tensor that no rigid body of positive mass can have."""

    def __init__(self, link: str, inertia: object, source: str = '') -> None:
        """Name the link and its inertia [kg m^2]."""
        super().__init__(
            f'link {link!r} has inertia {inertia}; it must be symmetric and positive definite',
            source,
        )


class InvalidAxis(ModelError):
    """A joint axis of zero length or with non-finite elements."""

    def __init__(self, link: str, axis: object, source: str = '') -> None:
        """Name the link and its axis."""
        super().__init__(
            f'link {link!r} has joint axis {axis}; it must be a finite non-zero vector', source
        )


class InvalidLimits(ModelError):
    """A lower limit above the upper one."""

    def __init__(
        self, joint: str, name: str, limits: tuple[float, float], source: str = ''
    ) -> None:
        """Name the joint and both limits."""
        lower, upper = limits
        super().__init__(
            f'joint {joint!r} has {name} {lower} above its upper limit {upper}', source
        )


class InvalidMimic(ModelError):
    """A mimic joint that follows nothing, itself, or another mimic joint."""

    def __init__(self, joint: str, followed: str, known: Iterable[str], source: str = '') -> None:
        """Name the joint, what it should follow and the joints it may follow."""
        super().__init__(f'joint {joint!r} cannot mimic {followed!r}; {choices(known)}', source)


class WrongArraySize(CnoidControlError, ValueError):
    """Something else than one number a joint, for one of a body's joint arrays."""

    def __init__(self, name: str, shape: tuple[int, ...], value: object) -> None:
        """Name the array, its shape and what was given."""
        given = np.shape(value) if isinstance(value, np.ndarray) else repr(value)[:80]
        super().__init__(
            f'body.{name} has shape {shape} and takes one number a joint, got {given}'
        )


class MotionError(CnoidControlError):
    """A recorded motion cannot be used."""

    def __init__(self, source: str, message: str) -> None:
        """Name the file and what is wrong with it."""
        self.source = source
        super().__init__(f'{source}: {message}')
