"""Strict mode: access to what was not enabled is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from cnoid_control.body import Body, Device, StateFlag
from cnoid_control.body.channels import COMMAND_CHANNELS, POSITION
from cnoid_control.plugin import ControllerIO
from cnoid_control.runtime.io_transfer import JOINT_INPUTS, JOINT_OUTPUTS, joint_slot


class ArrayWatcher(Protocol):
    """Who wants to know."""

    def read(self, array: str, slots: np.ndarray) -> None:
        """Elements of an array were read."""

    def written(self, array: str, slots: np.ndarray) -> None:
        """Elements of an array were written."""


class WatchedArray(np.ndarray):
    """View on a joint array; results of computations with it are plain arrays.

    Slices are watched too. What numpy converts in compiled code, such as np.asarray, is not
    noticed.

    Attributes:
        watcher: who is told; None for nobody.
        array: name of the joint array.
        slots: row of each element in the joint array.
    """

    watcher: ArrayWatcher | None
    array: str
    slots: np.ndarray

    def __array_finalize__(self, parent: Any) -> None:
        """Begin unwatched, as copies and results are."""
        self.watcher = None

    @classmethod
    def watch(
        cls, values: np.ndarray, watcher: ArrayWatcher, array: str, slots: np.ndarray
    ) -> WatchedArray:
        """Make a watched view."""
        view = values.view(cls)
        view.watcher, view.array, view.slots = watcher, array, slots
        return view

    def plain(self) -> np.ndarray:
        """The same memory, unwatched."""
        return self.view(np.ndarray)

    def _tell_read(self, key: Any = slice(None)) -> None:
        if self.watcher is not None:
            self.watcher.read(self.array, np.atleast_1d(self.slots[key]))

    def _tell_written(self, key: Any = slice(None)) -> None:
        if self.watcher is not None:
            self.watcher.written(self.array, np.atleast_1d(self.slots[key]))

    def __getitem__(self, key: Any) -> Any:
        """Elements; a slice is a watched view."""
        if self.watcher is not None and isinstance(key, slice):
            return self.watch(self.plain()[key], self.watcher, self.array, self.slots[key])
        self._tell_read(key)
        return self.plain()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        """Write elements."""
        self._tell_written(key)
        self.plain()[key] = unwatched(value)

    def __iter__(self) -> Iterator[Any]:
        """Elements one by one."""
        self._tell_read()
        return iter(self.plain())

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **options: Any
    ) -> Any:
        """Compute with plain arrays."""
        operands = [unwatched(one) for one in inputs]
        if out is not None:
            for one in out:
                if isinstance(one, WatchedArray):
                    one._tell_written()
            options['out'] = tuple(
                one.plain() if isinstance(one, WatchedArray) else one for one in out
            )
        result = getattr(ufunc, method)(*operands, **options)
        # In-place operators hand the result on to the name they stand at.
        return out[0] if out is not None and len(out) == 1 else result

    def __array_function__(
        self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any
    ) -> Any:
        """Compute with plain arrays."""
        return function(*unwatched(args), **unwatched(kwargs))


def unwatched(value: Any) -> Any:
    """Plain arrays in the place of watched ones, which are told that they are read."""
    if isinstance(value, WatchedArray):
        value._tell_read()
        return value.plain()
    if isinstance(value, (list, tuple)):
        return type(value)([unwatched(one) for one in value])
    if isinstance(value, dict):
        return {key: unwatched(one) for key, one in value.items()}
    return value


def _reading(name: str) -> Any:
    method = getattr(np.ndarray, name)

    def read(self: WatchedArray, *args: Any, **kwargs: Any) -> Any:
        self._tell_read(args[0] if name == 'item' and args else slice(None))
        return method(self.plain(), *unwatched(args), **unwatched(kwargs))

    read.__doc__ = method.__doc__
    return read


# Methods that are no ufuncs.
for _name in ('item', 'copy', 'tolist', 'tobytes', 'take', 'dot', 'astype', 'argmax', 'argmin'):
    setattr(WatchedArray, _name, _reading(_name))


class WatchedJoint:
    """A link's `joint_values` by way of the body's joint arrays, which may be watched."""

    _arrays: dict[str, np.ndarray]
    _slot: int

    def __init__(self, arrays: dict[str, np.ndarray], slot: int) -> None:
        """Stand for a joint, by its place in the arrays."""
        vars(self).update(_arrays=arrays, _slot=slot)

    def __getattr__(self, array: str) -> float:
        """Read the joint's element."""
        return self._arrays[array].item(self._slot)

    def __setattr__(self, array: str, value: float) -> None:
        """Write it."""
        self._arrays[array][self._slot] = value


ROOT_INPUTS = {
    'p': StateFlag.LINK_POSITION,
    'R': StateFlag.LINK_POSITION,
    'v': StateFlag.LINK_TWIST,
    'w': StateFlag.LINK_TWIST,
    'dv': StateFlag.LINK_ACCELERATION,
    'dw': StateFlag.LINK_ACCELERATION,
}
FLAG_OF_ARRAY = {array: flag.name for flag, array in JOINT_INPUTS.items()}
NAMES_SHOWN = 4
# What a controller writes to command a joint.
WRITTEN_ARRAYS = tuple(channel.command for channel in COMMAND_CHANNELS)


class StrictIO:
    """Watches the body of a family of controllers while one of them is in control().

    Each field is reported once: a joint's q, the root's pose, a sensor, and so on. What a
    controller has written itself it may read.
    """

    def __init__(self, body: Body) -> None:
        """Put watched arrays in the place of the body's own, before anybody has seen them."""
        self._body = body
        self._active = False
        self._readable: dict[str, np.ndarray] = {}
        self._effective: dict[str, np.ndarray] = {}
        self._found: dict[str, set[str]] = {}
        self._known: set[tuple[str, str]] = set()
        names = {*FLAG_OF_ARRAY, *WRITTEN_ARRAYS}
        self._plain = {name: body.joint_arrays[name] for name in names}
        self._root_flags = StateFlag.NONE
        self._root_written: set[str] = set()
        self._notified: set[str] = set()
        slots = np.arange(body.tree.num_slots)
        for name in FLAG_OF_ARRAY:
            watched = WatchedArray.watch(self._plain[name], self, name, slots)
            body.joint_arrays[name] = watched
            setattr(body, f'_{name}', watched[: body.num_joints])
        for slot, joint in enumerate(body.all_joints):
            joint.joint_values = WatchedJoint(body.joint_arrays, slot)
        self._watch_kinematics()
        for device in body.devices:
            device.state_changed.connect(lambda changed: self._notified.add(changed.name))

    # --- what is allowed ----------------------------------------------------------------------

    def allow(self, ios: Iterable[ControllerIO]) -> None:
        """Take note of what the family has enabled."""
        size = self._body.tree.num_slots
        self._readable = {array: np.zeros(size, dtype=bool) for array in FLAG_OF_ARRAY}
        self._effective = {array: np.zeros(size, dtype=bool) for array in WRITTEN_ARRAYS}
        self._pushed: set[int] = set()
        devices: set[str] = set()
        for io in ios:
            devices |= io.device_inputs
            for name, flags in io.inputs.items():
                link = self._body.link(name)
                slot = joint_slot(link)
                for flag, array in JOINT_INPUTS.items():
                    if flags & flag and slot >= 0:
                        self._readable[array][slot] = True
                if link.is_root:
                    self._root_flags |= flags
            for name in io.outputs:
                self._allow_output(name)
        for device in self._body.devices:
            if device.name not in devices:
                self._watch_device(device)

    def _allow_output(self, name: str) -> None:
        link = self._body.link(name)
        slot = joint_slot(link)
        if link.actuation_mode & StateFlag.LINK_EXT_WRENCH:
            self._pushed.add(link.index)
        for array, is_used in JOINT_OUTPUTS.items():
            # q_target is the reference in every mode.
            used = is_used(link.actuation_mode) or array == POSITION.command
            if slot >= 0 and used and array in self._effective:
                self._effective[array][slot] = True

    # --- what is noticed ----------------------------------------------------------------------

    def read(self, array: str, slots: np.ndarray) -> None:
        """Elements of an array were read."""
        if self._active:
            for slot in slots[~self._readable[array][slots]]:
                self._note(f'{array} read', self._body.all_joints[slot].joint_name)

    def written(self, array: str, slots: np.ndarray) -> None:
        """Elements of an array were written: from now on the controller knows them."""
        if self._active:
            self._readable[array][slots] = True

    def _watch_kinematics(self) -> None:
        body = self._body
        forward = body.calc_forward_kinematics
        position, rotation = body.link_position, body.link_rotation
        motion, put = body.link_motion, body.set_link_value
        every = np.array([slot for slot in body.tree.joint_slots if slot >= 0], dtype=int)

        def calc_forward_kinematics(velocity: bool = False, acceleration: bool = False) -> None:
            arrays = ['q'] + ['dq'] * (velocity or acceleration) + ['ddq'] * acceleration
            for array in arrays:
                self.read(array, every)
            forward(velocity, acceleration)

        def link_position(index: int) -> np.ndarray:
            self._read_root(index, 'p')
            return position(index)

        def link_rotation(index: int) -> np.ndarray:
            self._read_root(index, 'R')
            return rotation(index)

        def link_motion(index: int, name: str) -> np.ndarray:
            self._read_root(index, name)
            return motion(index, name)

        def set_link_value(index: int, name: str, value: np.ndarray) -> None:
            if index == 0 and self._active:
                self._root_written.add(name)
            put(index, name, value)

        def unwatched(method: Callable[..., Any]) -> Callable[..., Any]:
            def call(*args: Any, **kwargs: Any) -> Any:
                active, self._active = self._active, False
                try:
                    return method(*args, **kwargs)
                finally:
                    self._active = active

            return call

        replaced: dict[str, Callable[..., Any]] = {
            # Copying everything is no use of anything.
            'clone': unwatched(body.clone),
            'save_state': unwatched(body.save_state),
            'restore_state': unwatched(body.restore_state),
            'calc_forward_kinematics': calc_forward_kinematics,
            'link_position': link_position,
            'link_rotation': link_rotation,
            'link_motion': link_motion,
            'set_link_value': set_link_value,
        }
        for name, method in replaced.items():
            setattr(body, name, method)

    def _read_root(self, index: int, name: str) -> None:
        if index == 0 and self._active and not self._body.is_fixed_root:
            known = self._root_flags & ROOT_INPUTS[name] or name in self._root_written
            if not known:
                self._note(f'{name} of root read', self._body.root_link.name)

    def _watch_device(self, device: Device) -> None:
        """Notice that a sensor that was not enabled is looked at."""
        watched = (*device.measured_fields, *device.data_fields)
        original = type(device)
        if not watched:
            return

        def field(name: str) -> property:
            def get(this: Device) -> Any:
                if self._active:
                    self._note('device read', this.name)
                return vars(this)[name]

            def put(this: Device, value: Any) -> None:
                vars(this)[name] = value

            return property(get, put)

        members: dict[str, Any] = {name: field(name) for name in watched}
        # Its state still crosses to and from devices of the original class.
        members['watched_type'] = original
        device.__class__ = type(original.__name__, (original,), members)

    def _note(self, kind: str, name: str) -> None:
        if (kind, name) not in self._known:
            self._known.add((kind, name))
            self._found.setdefault(kind, set()).add(name)

    # --- a call of control() ------------------------------------------------------------------

    def guard(self, io: ControllerIO, control: Callable[[], Any]) -> Callable[[], Any]:
        """Function that calls control() and then reports what was noticed."""

        def guarded() -> Any:
            before = {name: self._plain[name].copy() for name in WRITTEN_ARRAYS}
            wrenches = self._body.external_wrenches.copy()
            states = [device.read_state() for device in self._body.devices]
            self._notified.clear()
            self._active = True
            try:
                return control()
            finally:
                self._active = False
                self._compare(before, wrenches, states)
                self._report(io)

        return guarded

    def _compare(
        self, before: dict[str, np.ndarray], wrenches: np.ndarray, states: list[np.ndarray]
    ) -> None:
        for array, values in before.items():
            changed = (self._plain[array] != values) & ~self._effective[array]
            for slot in np.flatnonzero(changed):
                self._note(f'{array} written', self._body.all_joints[slot].joint_name)
        for index in np.flatnonzero((self._body.external_wrenches != wrenches).any(axis=1)):
            if index not in self._pushed:
                self._note('F_ext written', self._body.links[index].name)
        for device, state in zip(self._body.devices, states, strict=True):
            changed = not np.array_equal(device.read_state(), state, equal_nan=True)
            if changed and device.name not in self._notified:
                self._note('device written', device.name)

    def _report(self, io: ControllerIO) -> None:
        for kind, names in self._found.items():
            text = f'warning: controller {io.controller_name!r} {_explain(kind, sorted(names))}'
            print(text, file=io.os)
        self._found.clear()


def _explain(kind: str, names: list[str]) -> str:
    what, action = kind.rsplit(' ', 1)
    listed = ', '.join(names[:NAMES_SHOWN])
    if len(names) > NAMES_SHOWN:
        listed += f' and {len(names) - NAMES_SHOWN} more'
    if kind == 'device read':
        return f'reads {listed}, not enabled: it stays as it was; io.enable_input(device)'
    if kind == 'device written':
        return f'changes {listed} without effect; call notify_state_change() on it'
    if kind == 'F_ext written':
        return (
            f'writes F_ext of {listed} without effect; '
            'io.enable_output(link, StateFlag.LINK_EXT_WRENCH)'
        )
    if action == 'written':
        return (
            f'writes {what} of {listed} without effect; '
            'enable the output with an actuation mode that uses it'
        )
    flag = FLAG_OF_ARRAY.get(what) or ROOT_INPUTS[what.split()[0]].name
    quantity = what.split()[0]
    return (
        f'reads {quantity} of {listed}, not enabled: it keeps its initial value; '
        f'io.enable_input(link, StateFlag.{flag})'
    )
