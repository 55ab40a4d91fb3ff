"""Devices of kinds that have no class of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from cnoid_control.body.devices.base import Device


class GenericDevice(Device):
    """Device of a kind that is known by its name only.

    It is where the model puts it and keeps what the model says of it; whoever knows the kind can
    use that. What fills `values`, if anything does, depends on the hardware.

    Attributes:
        kind: type that the model file calls it.
        info: everything that the model file says of it.
        values: what it measures, shape (n,); empty where nothing measures it.
    """

    state_fields = (*Device.state_fields, 'values')
    measured_fields = ('values',)

    def __init__(
        self,
        name: str,
        kind: str = '',
        info: Mapping[str, Any] | None = None,
        size: int = 0,
        **device: Any,
    ) -> None:
        """Make a device.

        Args:
            name: name, unique on the body.
            kind: type that the model file calls it.
            info: what the model file says of it.
            size: number of values that it measures.
            **device: what every device has: id, T_local, on.
        """
        super().__init__(name, **device)
        self.kind = kind
        self.info = dict(info or {})
        self.values = np.zeros(size)

    def __repr__(self) -> str:
        """Kind, name and link."""
        where = self.link.name if self.link is not None else None
        return f'GenericDevice({self.name!r}, kind={self.kind!r}, link={where!r})'
