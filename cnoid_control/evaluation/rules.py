"""Rules such as `max_tilt_deg < 20 and not fell`, on the values of a run or of a whole table."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

from cnoid_control.exceptions import CnoidControlError, choices

FUNCTIONS: dict[str, Callable[..., Any]] = {'abs': abs, 'min': min, 'max': max}
BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARISONS: dict[type, Callable[[Any, Any], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
ALLOWED = 'names, numbers, texts, + - * /, comparisons, and, or, not, abs(), min(), max()'


class Rule:
    """A condition on named values; names may have dots (`root_position.x`, `push.first.force`).

    Attributes:
        text: how it was written.
    """

    def __init__(self, text: str) -> None:
        """Read the rule; nothing of it is executed as Python.

        Raises:
            CnoidControlError: it cannot be read, or has more than comparisons and arithmetic.
        """
        self.text = text
        try:
            self._tree = ast.parse(text.strip(), mode='eval').body
        except (SyntaxError, ValueError) as error:
            raise CnoidControlError(f'rule {text!r} cannot be read: {error}') from error
        self._names = sorted(set(self._walk(self._tree)))

    @property
    def names(self) -> list[str]:
        """Names of the values that it needs."""
        return self._names

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether the values obey; never where a number in a comparison is NaN or missing.

        Raises:
            CnoidControlError: there is no such value, or values cannot be compared.
        """
        for name in self._names:
            if name not in values:
                raise CnoidControlError(
                    f'rule {self.text!r}: no value {name!r}; {choices(values)}'
                )
        try:
            return bool(self._value(self._tree, values))
        except (TypeError, ZeroDivisionError) as error:
            raise CnoidControlError(f'rule {self.text!r}: {error}') from error

    def _refuse(self) -> CnoidControlError:
        return CnoidControlError(f'rule {self.text!r} can have {ALLOWED}, and nothing else')

    def _walk(self, node: ast.expr) -> list[str]:
        """Names in a part of the rule; refuses what is not allowed."""
        name = _dotted(node)
        if name is not None:
            return [name]
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
            return []
        parts: list[ast.expr]
        if isinstance(node, ast.BoolOp):
            parts = node.values
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            parts = [node.operand]
        elif isinstance(node, ast.BinOp) and type(node.op) in BINARY:
            parts = [node.left, node.right]
        elif isinstance(node, ast.Compare) and all(type(op) in COMPARISONS for op in node.ops):
            parts = [node.left, *node.comparators]
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in FUNCTIONS
            and node.args
            and not node.keywords
        ):
            parts = node.args
        else:
            raise self._refuse()
        return [name for part in parts for name in self._walk(part)]

    def _value(self, node: ast.expr, values: Mapping[str, Any]) -> Any:
        name = _dotted(node)
        if name is not None:
            value = values[name]
            # What is not finite is None in a summary: nothing can be said of it.
            return math.nan if value is None else value
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.BoolOp):
            test = all if isinstance(node.op, ast.And) else any
            return test(self._value(part, values) for part in node.values)
        if isinstance(node, ast.UnaryOp):
            value = self._value(node.operand, values)
            return not value if isinstance(node.op, ast.Not) else -value
        if isinstance(node, ast.BinOp):
            left, right = self._value(node.left, values), self._value(node.right, values)
            return BINARY[type(node.op)](left, right)
        if isinstance(node, ast.Call):
            assert isinstance(node.func, ast.Name)
            return FUNCTIONS[node.func.id](*(self._value(part, values) for part in node.args))
        assert isinstance(node, ast.Compare)
        left = self._value(node.left, values)
        for op, part in zip(node.ops, node.comparators, strict=True):
            right = self._value(part, values)
            if _is_nan(left) or _is_nan(right) or not COMPARISONS[type(op)](left, right):
                return False
            left = right
        return True

    def __repr__(self) -> str:
        return f'<Rule {self.text!r}>'


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _dotted(node: ast.expr) -> str | None:
    """Name with dots that a part of a rule is; None where it is something else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return None if before is None else f'{before}.{node.attr}'
    return None
