"""Device, the base class of sensors and lights, and the list that a body keeps."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from cnoid_control.body.signal import Signal

if TYPE_CHECKING:
    from cnoid_control.body.link import Link

# What two devices may share.
UNCHANGEABLE = frozenset({bool, int, float, str})

DeviceT = TypeVar('DeviceT', bound='Device')

# Types of values that need no copy.
IMMUTABLE = (bool, int, float, str)


class Device:
    """Base of all devices.

    A device belongs to a link and has a state of its own. Who changes the state says so with
    `notify_state_change`; only then does the change cross between a controller and a robot.

    Attributes:
        name: name, unique on the body.
        id: number given by the model among devices of its kind; -1 for none.
        index: position in `body.devices`; -1 before it is on a body.
        link: link that carries it.
        T_local: pose in the link frame, shape (4, 4).
        on: whether it works.
        state_changed: emitted by `notify_state_change`.
    """

    # All kinds of devices by the name of their class, which model files call them by.
    types: ClassVar[dict[str, type[Device]]] = {}

    # Names of the attributes that make up the state, numbers and arrays of fixed size, and of
    # those that hold what it saw, arrays of any size; subclasses extend both.
    state_fields: tuple[str, ...] = ('on',)
    data_fields: tuple[str, ...] = ()
    # Both, which cross between a controller and a robot.
    crossing_fields: tuple[str, ...] = state_fields
    # Those of state_fields that are measurements.
    measured_fields: tuple[str, ...] = ()
    # Least and largest values of what a controller can change; any finite ones where not named.
    ranges: ClassVar[dict[str, tuple[float, float]]] = {'on': (0.0, 1.0)}

    def __init_subclass__(cls, is_kind: bool = True, **arguments: Any) -> None:
        """Make a kind of device known to the readers of models, unless it is a mere base."""
        super().__init_subclass__(**arguments)
        cls.crossing_fields = cls.state_fields + cls.data_fields
        if is_kind and 'watched_type' not in vars(cls):
            Device.types.setdefault(cls.__name__, cls)

    def __init__(
        self, name: str, id: int = -1, T_local: np.ndarray | None = None, on: bool = True
    ) -> None:
        """Make a device that is not on a body yet."""
        self.name = name
        self.id = id
        self.index = -1
        self.link: Link | None = None
        self.T_local = np.eye(4) if T_local is None else np.array(T_local, dtype=float)
        self.on = on
        self.state_changed = Signal()

    @property
    def p_local(self) -> np.ndarray:
        """Origin in the link frame [m], shape (3,); a view that can be written to."""
        return self.T_local[:3, 3]

    @property
    def R_local(self) -> np.ndarray:
        """Axes in the link frame, shape (3, 3); a view that can be written to."""
        return self.T_local[:3, :3]

    @property
    def command_fields(self) -> tuple[str, ...]:
        """Names of the attributes that a controller can change: the state but measurements."""
        return tuple(name for name in self.state_fields if name not in self.measured_fields)

    def problem(self) -> str:
        """Why the device cannot be what a controller has made of it; empty where it can."""
        for name in self.command_fields:
            values = np.asarray(getattr(self, name), dtype=float)
            low, high = self.ranges.get(name, (-np.inf, np.inf))
            if not (np.isfinite(values) & (values >= low) & (values <= high)).all():
                allowed = f'within {low:g} and {high:g}' if np.isfinite(low) else 'finite'
                return f'{name} of {self.name!r} is {getattr(self, name)}, not {allowed}'
        return ''

    def notify_state_change(self) -> None:
        """Say that the state was changed."""
        self.state_changed(self)

    def copy_state_from(self, other: Device) -> None:
        """Take over the state of another device of the same class."""
        if _class_of(other) is not _class_of(self):
            raise TypeError(
                f'{type(self).__name__} {self.name!r} cannot take the state of a '
                f'{type(other).__name__}'
            )
        for name in self.crossing_fields:
            value = getattr(other, name)
            current = getattr(self, name)
            if value is current and value.__class__ in UNCHANGEABLE:
                continue
            if isinstance(value, np.ndarray) and value.shape == getattr(current, 'shape', None):
                current[...] = value
            elif name in self.state_fields and isinstance(current, np.ndarray):
                current[...] = self._numbers(name, value, current.shape)
            elif type(value) not in IMMUTABLE:
                setattr(self, name, copy.copy(value))
            elif value is not current:
                setattr(self, name, value)

    def _numbers(self, name: str, value: object, shape: tuple[int, ...]) -> np.ndarray:
        """Numbers that were assigned to a field, a list perhaps, in the field's shape."""
        array = np.asarray(value, dtype=float)
        if array.shape != shape:
            raise ValueError(f'{self.name}.{name} has shape {shape}, got {array.shape}')
        return array

    def clear_state(self) -> None:
        """Forget what was measured: arrays to zero, what it saw to nothing."""
        for name in self.measured_fields:
            getattr(self, name)[...] = 0.0
        for name in self.data_fields:
            setattr(self, name, getattr(self, name)[:0].copy())

    @property
    def state_size(self) -> int:
        """Length of the vector that `read_state` gives."""
        return sum(np.size(getattr(self, name)) for name in self.state_fields)

    def read_state(self) -> np.ndarray:
        """State as one vector, in the order of `state_fields`."""
        return np.concatenate([np.ravel(getattr(self, name)) for name in self.state_fields]) * 1.0

    def write_state(self, values: np.ndarray) -> None:
        """Take over a state given as one vector.

        Raises:
            ValueError: the vector does not have `state_size` elements.
        """
        values = np.asarray(values, dtype=float)
        if values.shape != (self.state_size,):
            raise ValueError(
                f'the state of {self.name!r} has {self.state_size} elements, got {values.shape}'
            )
        start = 0
        for name in self.state_fields:
            current = getattr(self, name)
            size = np.size(current)
            part = values[start : start + size]
            if isinstance(current, np.ndarray):
                current[...] = part.reshape(current.shape)
            else:
                setattr(self, name, type(current)(part[0]))
            start += size

    def clone(self: DeviceT) -> DeviceT:
        """Copy that is on no body, with a state and signals of its own."""
        twin = copy.copy(self)
        twin.link = None
        twin.index = -1
        twin.state_changed = Signal()
        for key, value in vars(self).items():
            if isinstance(value, np.ndarray):
                setattr(twin, key, value.copy())
        return twin

    def __repr__(self) -> str:
        """Class, name and link."""
        where = self.link.name if self.link is not None else None
        return f'{type(self).__name__}({self.name!r}, link={where!r})'


def _class_of(device: Device) -> type[Device]:
    """Class of a device; a strict run puts a watched class, derived from it, in its place."""
    return getattr(device, 'watched_type', type(device))


OtherT = TypeVar('OtherT', bound=Device)


class DeviceList(list[DeviceT]):
    """Devices of one type, derived types included.

        sensors = DeviceList(ForceSensor, body.devices)
        sensors << other_body.devices

    Attributes:
        device_type: the type; what is not of it is left out.
    """

    def __init__(self, device_type: type[DeviceT], devices: Iterable[Device] = ()) -> None:
        """Pick those of a type out of some devices.

        Args:
            device_type: the type, `Device` for all.
            devices: the devices to pick from.
        """
        super().__init__()
        self.device_type = device_type
        self << devices

    def of_type(self, device_type: type[OtherT]) -> DeviceList[OtherT]:
        """Those of another type."""
        return DeviceList(device_type, self)

    def __lshift__(self, devices: Iterable[Device]) -> DeviceList[DeviceT]:
        """Append those of `devices` that are of the list's type."""
        self.extend(device for device in devices if isinstance(device, self.device_type))
        return self

    def sorted_by_id(self) -> list[DeviceT | None]:
        """Each device at the index of its id; None in the holes; ids below 0 are left out."""
        size = 1 + max((device.id for device in self), default=-1)
        slots: list[DeviceT | None] = [None] * size
        for device in self:
            if device.id >= 0:
                slots[device.id] = device
        return slots
