"""Puts one vector together from several."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cnoid_control.controllers.composition.base_controller import BaseController, Message

logger = logging.getLogger(__name__)


class ComposeController(BaseController):
    """Takes the elements named by index from each item, into the same places of one vector."""

    def __init__(
        self, items: Mapping[str, Sequence[int]], outitem: str, flatten: bool = True
    ) -> None:
        """Say what comes from where.

        Args:
            items: indices by item.
            outitem: item of the result.
            flatten: whether the result is a vector with 0 in the holes; otherwise a dict of the
                elements by index.
        """
        self.items = {item: list(indices) for item, indices in items.items()}
        self.outitem = outitem
        self.flatten = flatten

    def output(self, **inputs: Any) -> Message:
        """The composed vector."""
        elements: dict[int, float] = {}
        for item, indices in self.items.items():
            if item not in inputs:
                logger.warning(
                    'item %r is to be composed into %r and is missing', item, self.outitem
                )
                continue
            for index in indices:
                elements[index] = inputs[item][index]
        if not self.flatten:
            return {self.outitem: elements}
        size = 1 + max((index for part in self.items.values() for index in part), default=-1)
        vector = np.zeros(size)
        for index, value in elements.items():
            vector[index] = value
        return {self.outitem: vector}
