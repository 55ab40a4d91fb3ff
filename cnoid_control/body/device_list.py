"""A list of devices that can be filtered by type and sorted by id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from cnoid_control.body.device import Device

DeviceT = TypeVar('DeviceT', bound=Device)
OtherT = TypeVar('OtherT', bound=Device)


class DeviceList(list[DeviceT]):
    """Devices in a row, of one type or of several."""

    def of_type(self, device_type: type[OtherT]) -> DeviceList[OtherT]:
        """Those of one type, derived types included."""
        found: DeviceList[OtherT] = DeviceList()
        found.extend(device for device in self if isinstance(device, device_type))
        return found

    def __lshift__(self, devices: Iterable[DeviceT]) -> DeviceList[DeviceT]:
        """Append all of `devices`."""
        self.extend(devices)
        return self

    def sorted_by_id(self) -> list[DeviceT | None]:
        """Each device at the index of its id; None in the holes; ids below 0 are left out."""
        size = 1 + max((device.id for device in self), default=-1)
        slots: list[DeviceT | None] = [None] * size
        for device in self:
            if device.id >= 0:
                slots[device.id] = device
        return slots
