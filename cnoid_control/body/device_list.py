"""A list of devices that can be filtered by type and sorted by id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from cnoid_control.body.device import Device

DeviceT = TypeVar('DeviceT', bound=Device)
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
