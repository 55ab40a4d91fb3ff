"""Where an observation differs from a recorded one, and what would make them equal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cnoid_control.controllers.policy.observation import Observation, Term
from cnoid_control.controllers.policy.terms import JOINT_TERMS
from cnoid_control.exceptions import CnoidControlError

QUATERNIONS = {'quaternion_wxyz': 'quaternion_xyzw', 'quaternion_xyzw': 'quaternion_wxyz'}

# Terms that depend on which place of the robot is the base.
BASE = ('base_linear_velocity', 'base_angular_velocity', 'projected_gravity')

# Terms that have one value per joint of the policy.
PER_JOINT = (*JOINT_TERMS, 'last_action')


@dataclass
class Difference:
    """The first value in which two observations differ, and what that may come from.

    Attributes:
        index: its place in the observation.
        term: name of its term.
        element: name of the joint or axis.
        age: how many periods old it is.
        ours: the value here.
        recorded: the value of the recorded one.
        terms: names of all terms that differ.
        hints: what would make terms equal, in words.
    """

    index: int
    term: str
    element: str
    age: int
    ours: float
    recorded: float
    terms: list[str]
    hints: list[str]


def compare(
    observation: Observation,
    recorded: np.ndarray,
    default: np.ndarray,
    tolerance: float,
    other_bases: Sequence[str] = (),
) -> Difference | None:
    """First difference between an observation and a recorded vector; None where there is none.

    Args:
        observation: the observation as it is now.
        recorded: the recorded vector.
        default: default posture in the order of the policy's joints [rad] or [m].
        tolerance: largest difference that counts as none.
        other_bases: IMUs that might be the base, and are not.

    Raises:
        CnoidControlError: the recorded vector has another size, or a value that is not finite.
    """
    ours = observation.vector
    if recorded.size != ours.size:
        listed = ', '.join(f'{term.name} {term.length}' for term in observation.terms)
        raise CnoidControlError(
            f'the recorded observation has {recorded.size} values, and this one has {ours.size}: '
            f'{listed}'
        )
    bad = np.flatnonzero(~np.isfinite(recorded))
    if bad.size:
        raise CnoidControlError(f'the recorded observation is not finite at {bad[0]}')
    wrong = np.abs(ours - recorded) > tolerance
    if not wrong.any():
        return None
    places = observation.places()
    differing = [
        i for i, place in enumerate(places) if wrong[place].any() and observation.terms[i].size
    ]
    index = int(np.flatnonzero(wrong)[0])
    first = next(i for i in differing if (places[i] == index).any())
    term = observation.terms[first]
    row, column = (int(one[0]) for one in np.nonzero(places[first] == index))
    judge = _Judge(observation, places, recorded, default, tolerance)
    whole = _other_history(observation, places, recorded, tolerance)
    hints = (
        [whole]
        if whole
        else list(dict.fromkeys(hint for i in differing for hint in judge.hints(i)))
    )
    names = [one.name for one in (observation.terms[i] for i in differing) if one.source in BASE]
    if not hints and names and other_bases:
        hints.append(
            f'{", ".join(names)} may be of another place or in other axes: with the option imu it '
            f'is of {" or ".join(other_bases)}'
        )
    return Difference(
        index,
        term.name,
        term.elements[column],
        len(places[first]) - 1 - row,
        float(ours[index]),
        float(recorded[index]),
        [observation.terms[i].name for i in differing],
        hints,
    )


def _other_history(
    observation: Observation, places: list[np.ndarray], recorded: np.ndarray, tolerance: float
) -> str:
    """With which options of the history everything would be equal; empty for none."""
    # Rows of each term, the oldest first.
    rows = [observation.vector[place] for place in places]
    lengths = {len(one) for one in rows}
    if lengths == {1}:
        return ''
    for newest_first in (False, True):
        ordered = [one[::-1] if newest_first else one for one in rows]
        arranged = {'term': np.concatenate([one.reshape(-1) for one in ordered])}
        if len(lengths) == 1:
            arranged['whole'] = np.concatenate(ordered, axis=1).reshape(-1)
        for of, vector in arranged.items():
            if of != observation.history_of and (np.abs(vector - recorded) <= tolerance).all():
                order = 'newest_first' if newest_first else 'oldest_first'
                return (
                    f'the values are those of another history: equal with history_of: {of} and '
                    f'history_order: {order}'
                )
    return ''


class _Judge:
    """Tries the mistakes that everybody makes."""

    def __init__(
        self,
        observation: Observation,
        places: list[np.ndarray],
        recorded: np.ndarray,
        default: np.ndarray,
        tolerance: float,
    ) -> None:
        self._terms = observation.terms
        self._places = places
        self._vector = observation.vector
        self._recorded = recorded
        self._default = default
        self._tolerance = tolerance

    def hints(self, index: int) -> Iterator[str]:
        """What would make a term equal; the first of the plainer mistakes alone."""
        term = self._terms[index]
        ours, theirs = self._vector[self._places[index]], self._recorded[self._places[index]]
        for found in (
            self._scaled(term, ours, theirs),
            self._turned(term, ours, theirs),
            self._reversed(term, ours, theirs),
            self._signs(term, ours, theirs),
            self._absolute(term, ours, theirs),
            self._joint_order(index),
        ):
            if found:
                yield found
                return
        elsewhere = self._elsewhere(index)
        if elsewhere:
            yield elsewhere

    def _same(self, one: np.ndarray, other: np.ndarray) -> bool:
        return bool((np.abs(one - other) <= self._tolerance).all())

    def _scaled(self, term: Term, ours: np.ndarray, theirs: np.ndarray) -> str:
        power = float((ours * ours).sum())
        if power <= self._tolerance**2:
            return ''
        factor = float((ours * theirs).sum()) / power
        if abs(factor) < 1e-9 or not self._same(factor * ours, theirs):
            return ''
        if abs(factor + 1.0) < 1e-3:
            return f'{term.name} has the opposite sign: terms.{term.name}.scale times -1'
        if np.count_nonzero(np.abs(ours) > self._tolerance) < 2:
            return f'{term.name} would be equal with its scale times {factor:.4g}'
        scale = f'{term.scale[0] * factor:.4g}' if np.ptp(term.scale) == 0.0 else 'each of them'
        return (
            f'{term.name} has another scale: the recorded one is {factor:.4g} times this one '
            f'(terms.{term.name}.scale: {scale})'
        )

    def _turned(self, term: Term, ours: np.ndarray, theirs: np.ndarray) -> str:
        if term.source not in QUATERNIONS:
            return ''
        shift = -1 if term.source == 'quaternion_wxyz' else 1
        if self._same(np.roll(ours, shift, axis=1), theirs):
            return f'{term.name} is in the order of {QUATERNIONS[term.source]}'
        return ''

    def _reversed(self, term: Term, ours: np.ndarray, theirs: np.ndarray) -> str:
        if len(ours) > 1 and self._same(ours[::-1], theirs):
            return f'the history of {term.name} is in the opposite order (history_order)'
        return ''

    def _signs(self, term: Term, ours: np.ndarray, theirs: np.ndarray) -> str:
        if not self._same(np.abs(ours), np.abs(theirs)):
            return ''
        flipped = (np.abs(ours - theirs) > self._tolerance).any(axis=0)
        names = [term.elements[i] for i in np.flatnonzero(flipped)]
        return f'{term.name} has the opposite sign at {", ".join(names)}'

    def _absolute(self, term: Term, ours: np.ndarray, theirs: np.ndarray) -> str:
        if self._default.size != term.size:
            return ''
        posture = self._default * term.scale
        if term.source == 'joint_position' and self._same(ours + posture, theirs):
            return f'{term.name} is not relative to the default posture (absolute_joint_position)'
        if term.source == 'absolute_joint_position' and self._same(ours - posture, theirs):
            return f'{term.name} is relative to the default posture (joint_position)'
        return ''

    def _joint_order(self, index: int) -> str:
        """The order of the joints that all terms of the same joints agree on."""
        term = self._terms[index]
        if term.source not in PER_JOINT:
            return ''
        rows = [
            (self._vector[place], self._recorded[place])
            for other, place in zip(self._terms, self._places, strict=True)
            if other.source in PER_JOINT and other.elements == term.elements
        ]
        ours = np.vstack([one for one, _ in rows])
        theirs = np.vstack([one for _, one in rows])
        order, is_unique = _matching_columns(ours, theirs, self._tolerance)
        if order is None:
            # Other terms may differ by more than the order.
            place = self._places[index]
            order, is_unique = _matching_columns(
                self._vector[place], self._recorded[place], self._tolerance
            )
        if order is None:
            return ''
        names = ', '.join(term.elements[i] for i in order)
        doubt = '' if is_unique else '; joints with equal values cannot be told apart'
        return f'the joints are in another order, in the recorded one: {names}{doubt}'

    def _elsewhere(self, index: int) -> str:
        """Where the values of a term stand in the recorded one, if they are all there."""
        values = np.sort(self._places[index].reshape(-1))
        ours = self._vector[values]
        if not values.size or (np.abs(ours) <= self._tolerance).all():
            return ''
        for start in range(self._recorded.size - ours.size + 1):
            if self._same(self._recorded[start : start + ours.size], ours):
                term = self._terms[index].name
                return (
                    f'the values of {term} are at {start} to {start + ours.size - 1} of the '
                    'recorded one: the terms are in another order'
                )
        return ''


def _matching_columns(
    ours: np.ndarray, theirs: np.ndarray, tolerance: float
) -> tuple[list[int] | None, bool]:
    """Columns of ours in the order in which they equal theirs, and whether that is the only one.

    Nothing where they are not the same columns, or equal as they stand.
    """
    order: list[int] = []
    is_unique = True
    for column in range(theirs.shape[1]):
        same = (np.abs(ours - theirs[:, column : column + 1]) <= tolerance).all(axis=0)
        left = [int(i) for i in np.flatnonzero(same) if i not in order]
        if not left:
            return None, False
        is_unique = is_unique and len(left) == 1
        # What can stay where it is, does.
        order.append(column if column in left else left[0])
    return (None if order == list(range(len(order))) else order), is_unique
