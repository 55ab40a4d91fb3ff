"""Reads typed values from XML, with errors that say where."""

from __future__ import annotations

import math
from typing import Any
from xml.etree import ElementTree

import numpy as np

from cnoid_control.body.exceptions import ModelError, invalid_value, missing_value
from cnoid_control.body.rotations import rpy_matrix

Element = ElementTree.Element

MAX_DEPTH = 50


class _GuardedBuilder(ElementTree.TreeBuilder):
    """Builds the tree unless it is nested too deep or declares a document type."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source
        self._depth = 0

    def doctype(self, name: str, pubid: str | None, system: str | None) -> None:
        raise ModelError(
            'is not XML that can be read: document types and entities are not allowed',
            self._source,
        )

    def start(self, tag: Any, attrs: dict[Any, Any], /) -> Element:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ModelError(f'elements are nested more than {MAX_DEPTH} deep', self._source)
        return super().start(tag, attrs)

    def end(self, tag: Any, /) -> Element:
        self._depth -= 1
        return super().end(tag)


class XmlReader:
    """Values of one XML document.

    Attributes:
        source: file the document came from, for messages.
        root: outermost element.
        warnings: what was assumed or left out, one sentence each.
    """

    def __init__(self, text: str, source: str) -> None:
        """Parse the text; document types, and with them entities, are refused.

        Raises:
            ModelError: the text is not XML, or declares a document type.
            ModelError: elements are nested too deep.
        """
        self.source = source
        self.warnings: list[str] = []
        parser = ElementTree.XMLParser(target=_GuardedBuilder(source))
        try:
            parser.feed(text)
            self.root: Element = parser.close()
        except (ElementTree.ParseError, ValueError) as error:
            raise ModelError(f'is not XML that can be read: {error!s}', source) from error

    def warn(self, sentence: str) -> None:
        """Keep a sentence for the model's warnings, once."""
        if sentence not in self.warnings:
            self.warnings.append(sentence)

    def text(self, element: Element | None, key: str, context: Element) -> str:
        """Attribute that must be there; `context` is named where it is not.

        Raises:
            ModelError: it is not there.
        """
        value = element.get(key) if element is not None else None
        if not value:
            raise missing_value(label(context), key, self.source)
        return value

    def number(
        self, element: Element, key: str, default: float = 0.0, finite: bool = True
    ) -> float:
        """Attribute as a number, `default` where it is absent; infinite only where not `finite`.

        Raises:
            ModelError: it is not a number.
        """
        text = element.get(key)
        return default if text is None else self.parse_number(text, element, key, finite)

    def parse_number(
        self, text: str | None, element: Element, key: str, finite: bool = True
    ) -> float:
        """Text of an element as a number, infinite only where not `finite`.

        Raises:
            ModelError: it is not one.
        """
        try:
            value = float(text or '')
        except ValueError:
            value = math.nan
        if not math.isfinite(value) if finite else math.isnan(value):
            expected = 'a finite number' if finite else 'a number'
            raise invalid_value(label(element), key, text, expected, self.source)
        return value

    def parse_integer(self, text: str | None, element: Element, key: str) -> int:
        """Text of an element as a whole number.

        Raises:
            ModelError: it is not one.
        """
        try:
            # Many a file has 640.0 for 640.
            number = float(text or '')
            if number == int(number):
                return int(number)
        except (ValueError, OverflowError):
            pass
        raise invalid_value(label(element), key, text, 'a whole number', self.source)

    def vector(
        self, element: Element | None, key: str, default: tuple[float, ...], size: int = 3
    ) -> np.ndarray:
        """Attribute as `size` numbers, `default` where it is absent.

        Raises:
            ModelError: it is not that many finite numbers.
        """
        text = element.get(key) if element is not None else None
        if element is None or text is None:
            return np.array(default, dtype=float)
        return self.parse_vector(text, element, key, size)

    def parse_vector(
        self, text: str | None, element: Element, key: str, size: int, finite: bool = True
    ) -> np.ndarray:
        """Text of an element as `size` numbers; infinite ones only where not `finite`.

        Raises:
            ModelError: it is not that many numbers.
        """
        try:
            values = [float(word) for word in (text or '').split()]
        except ValueError:
            values = []
        bad = (not math.isfinite(value) if finite else math.isnan(value) for value in values)
        if len(values) != size or any(bad):
            expected = f'{size} finite numbers' if finite else f'{size} numbers'
            raise invalid_value(label(element), key, text, expected, self.source)
        return np.array(values)

    def origin(self, element: Element) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and axes that the `<origin>` of an element gives."""
        return self.pose(element.find('origin'))

    def pose(self, element: Element | None) -> tuple[np.ndarray, np.ndarray]:
        """Position [m] and axes that the attributes xyz and rpy [rad] of an element give."""
        zero = (0.0, 0.0, 0.0)
        return self.vector(element, 'xyz', zero), rpy_matrix(self.vector(element, 'rpy', zero))


def label(element: Element) -> str:
    """Text that names an element in messages."""
    name = element.get('name')
    return f'<{element.tag} name={name!r}>' if name is not None else f'<{element.tag}>'
