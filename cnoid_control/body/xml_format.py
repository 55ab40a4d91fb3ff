"""Values as the text of XML attributes."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree

import numpy as np
import pinocchio as pin


def number(value: float) -> str:
    """Shortest text that reads back as the same number."""
    # Adding zero turns -0.0 into 0.0.
    return repr(float(value) + 0.0)


def numbers(values: Iterable[float]) -> str:
    """Numbers with spaces between them."""
    return ' '.join(number(value) for value in values)


def pose_attributes(translation: np.ndarray, rotation: np.ndarray) -> dict[str, str]:
    """Attributes xyz [m] and rpy [rad] of a frame, as far as they are not zero."""
    attributes = {}
    if np.any(translation):
        attributes['xyz'] = numbers(translation)
    if not np.array_equal(rotation, np.eye(3)):
        attributes['rpy'] = numbers(pin.rpy.matrixToRpy(rotation))
    return attributes


def write_origin(
    parent: ElementTree.Element, translation: np.ndarray, rotation: np.ndarray
) -> None:
    """Add an `<origin>`, unless it is the parent's own frame."""
    attributes = pose_attributes(translation, rotation)
    if attributes:
        ElementTree.SubElement(parent, 'origin', attributes)
