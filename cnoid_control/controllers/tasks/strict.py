"""Objects that refuse to be given attributes which they do not have."""

from __future__ import annotations

import abc
from typing import Any

from cnoid_control.exceptions import choices

# Sets an attribute that is known to be there, without the look that `Strict` takes first: for
# what is set in every tick.
put = object.__setattr__


class StrictMeta(abc.ABCMeta):
    """Closes each object when its `__init__` has returned."""

    def __call__(cls, *args: Any, **options: Any) -> Any:
        """Make an object."""
        made = super().__call__(*args, **options)
        made._is_closed = True
        return made


class Strict(metaclass=StrictMeta):
    """Base of objects whose public attributes are all there when `__init__` has returned.

    What would be a new one later is a mistake that nobody would see: `task.max_speed = 0.1` limits
    nothing where the limit is `task.shaper.max_speed`. Names with an underscore are free.
    """

    _is_closed = False

    def __setattr__(self, name: str, value: Any) -> None:
        """Set an attribute that exists.

        Raises:
            AttributeError: there is none of that name.
        """
        # Cheapest first: most attributes are there, and are set in every tick.
        if (
            name not in self.__dict__
            and name[0] != '_'
            and self._is_closed
            and not hasattr(type(self), name)
        ):
            known = sorted(key for key in {*dir(type(self)), *self.__dict__} if key[0] != '_')
            raise AttributeError(
                f'{type(self).__name__} has no attribute {name!r}; {choices(known)}; make those '
                'of a class of your own in its __init__'
            )
        object.__setattr__(self, name, value)
