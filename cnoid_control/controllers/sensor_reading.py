"""What a device or an encoder measures, as a flat vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from cnoid_control.body import Body, Device
from cnoid_control.exceptions import CnoidControlError, choices


def unknown_sensor(key: object, known: Sequence[str]) -> CnoidControlError:
    """The error about a sensor that is not read."""
    return CnoidControlError(f'unknown sensor {key!r}; {choices(known)}')


class SensorReading:
    """A named source of measurements.

    Attributes:
        name: name of the sensor.
    """

    def __init__(self, name: str, read: Callable[[], np.ndarray]) -> None:
        """Give the source of the measurements a name."""
        self.name = name
        self._read = read

    @classmethod
    def of_device(cls, device: Device) -> SensorReading:
        """Everything that a device measures, one field after the other; pictures too."""
        fields = measured(device)

        def read() -> np.ndarray:
            parts = [np.ravel(getattr(device, field)) for field in fields]
            return np.concatenate(parts) if parts else np.zeros(0)

        return cls(device.name, read)

    @property
    def measurements(self) -> np.ndarray:
        """What it measures now, SI units, in the order of the device's fields."""
        return self._read()


def measured(device: Device) -> tuple[str, ...]:
    """Fields of a device that hold what it measures; none for one that only acts."""
    return (*device.measured_fields, *device.data_fields)


# In an option that lists devices: every one that measures something.
ALL = 'all'


def chosen_devices(body: Body, names: Sequence[str]) -> list[Device]:
    """Devices that an option lists by name; `all` stands for every one that measures something.

    Raises:
        CnoidControlError: there is none of a name.
    """
    every = [device for device in body.devices if measured(device)]
    chosen: list[Device] = []
    for name in names:
        for device in every if name == ALL else [find_device(body, name)]:
            if device not in chosen:
                chosen.append(device)
    return chosen


def find_device(body: Body, name: str) -> Device:
    """Device of a body by name.

    Raises:
        CnoidControlError: there is none.
    """
    for device in body.devices:
        if device.name == name:
            return device
    raise unknown_sensor(name, [device.name for device in body.devices])
