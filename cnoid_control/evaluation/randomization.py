"""The `randomize` section: what differs from run to run, as changes of the configuration.

Every drawn value becomes a value of the configuration. So each run is a configuration of its own,
that can be written to a file and run again alone.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml

from cnoid_control.body import Body
from cnoid_control.evaluation.distributions import (
    ADD,
    CONSTANT,
    SCALE,
    SET,
    Distribution,
    is_distribution,
    parse_distribution,
)
from cnoid_control.evaluation.quantities import (
    JOINT_SENSORS,
    JOINTS,
    PUSH,
    PUSH_KEYS,
    QUANTITIES,
    SECTION,
    SENSORS,
    TERRAIN,
    XYZ,
    Quantity,
)
from cnoid_control.exceptions import CnoidControlError, choices
from cnoid_control.hardware.mujoco.parameters import TerrainParameters
from cnoid_control.parameters import ParameterError
from cnoid_control.runtime.config import (
    NODE_KEYS,
    RunConfig,
    RunParameters,
    merge,
    override,
    parse_config,
    read_parameter_file,
)
from cnoid_control.strict_yaml import load_yaml

if TYPE_CHECKING:
    from cnoid_control.hardware.mujoco.model import MujocoModel


@dataclass(frozen=True)
class Variable:
    """One value that is drawn for each run.

    Attributes:
        name: its key in the section, patterns filled in: `mass.CHEST`, `com.CHEST.x`, `pd.kp`.
        distribution: what it is drawn from.
        put: puts a draw into changes of the configuration.
    """

    name: str
    distribution: Distribution
    put: Callable[[dict[str, Any], Any], None]

    @property
    def is_constant(self) -> bool:
        """Whether every run has the same value."""
        return self.distribution.kind == CONSTANT

    def draw(self, seed: int) -> Any:
        """Value in the run with this seed; it depends on nothing else in the section."""
        random = np.random.default_rng([seed, zlib.crc32(self.name.encode())])
        return self.distribution.draw(random)


def run_seed(seed: int, run: int) -> int:
    """Seed of a run of an evaluation: all that is random in the run follows from it."""
    words = np.random.SeedSequence([seed, run]).generate_state(2, np.uint32)
    # It is an option of the physics and a column of tables: not too long, and not negative.
    return int(words[0]) << 16 | int(words[1]) & 0xFFFF


def read_section(path: str | Path) -> dict[str, Any]:
    """The `randomize` section of a file: a parameter file, or a map with that key alone.

    Raises:
        CnoidControlError: it cannot be read, or has no such section.
    """
    try:
        content = load_yaml(Path(path).read_text(encoding='utf-8'))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise CnoidControlError(f'{path}: cannot be read: {error}') from error
    if isinstance(content, Mapping) and any(key in content for key in NODE_KEYS):
        content = read_parameter_file(Path(path))
    section = content.get(SECTION) if isinstance(content, Mapping) else None
    if not isinstance(section, Mapping):
        raise CnoidControlError(f'{path}: has no section `{SECTION}`')
    return dict(section)


def flatten(section: Mapping[str, Any], prefix: str = '') -> Iterator[tuple[str, Any]]:
    """Keys of the section with their distributions."""
    for key, value in section.items():
        name = f'{prefix}{key}'
        if is_distribution(value):
            yield name, value
        else:
            yield from flatten(value, f'{name}.')


class Randomization:
    """What is drawn for each run.

    Attributes:
        variables: everything that is drawn, in the order of the section.
    """

    def __init__(
        self,
        section: Mapping[str, Any],
        config: RunConfig,
        body: Body,
        mapping: MujocoModel | None = None,
    ) -> None:
        """Read the section for a robot.

        Args:
            section: the `randomize` section: distributions by key, nested or with dots.
            config: the configuration that the draws change.
            body: the robot.
            mapping: the robot in its compiled physics; None where it runs without.

        Raises:
            ParameterError: a key, a name or a distribution is wrong.
        """
        values = {key: value for key, value in config.values.items() if key != SECTION}
        self._config = replace(config, values=values)
        self._body = body
        self._mapping = mapping
        self.variables: list[Variable] = []
        pushes: dict[str, dict[str, Distribution]] = {}
        for key, value in flatten(section):
            distribution = parse_distribution(f'{SECTION}.{key}', value)
            head, _, rest = key.partition('.')
            if head == PUSH:
                name, _, part = rest.partition('.')
                pushes.setdefault(name, {})[part] = distribution
            elif head in QUANTITIES:
                self._add_quantity(head, rest, distribution)
            elif head == TERRAIN:
                self._add_terrain(rest, distribution)
            else:
                self._add_key(key, distribution)
        for name, parts in pushes.items():
            self._add_push(name, parts)
        known: set[str] = set()
        for variable in self.variables:
            if variable.name in known:
                raise ParameterError(f'{SECTION}.{variable.name}', 'is randomised twice')
            known.add(variable.name)
            variable.distribution.check(f'{SECTION}.{variable.name}')

    @property
    def columns(self) -> list[str]:
        """Names of what differs from run to run."""
        return [variable.name for variable in self.variables if not variable.is_constant]

    def draw(self, seed: int) -> dict[str, Any]:
        """Values of the run with this seed, by name."""
        return {variable.name: variable.draw(seed) for variable in self.variables}

    def config(self, drawn: Mapping[str, Any], seed: int) -> RunConfig:
        """Configuration of a run.

        Args:
            drawn: what `draw` returned, or other values for the same names.
            seed: seed of the run, for the noise of its sensors.

        Raises:
            ParameterError: a value is not allowed.
        """
        base = self._config
        changes: dict[str, Any] = {'hardware': {base.hardware_type: {'seed': seed}}}
        if not hasattr(base.hardware_parameters, 'seed'):
            changes = {}
        for variable in self.variables:
            variable.put(changes, drawn[variable.name])
        return parse_config(override(base.values, changes), base.name, base.folder)

    def check(self, seeds: Sequence[int]) -> None:
        """Refuse draws that the configuration refuses, before anything runs.

        Raises:
            ParameterError: the smallest or the largest draw of a value is not allowed.
        """
        if not seeds:
            return
        first = self.draw(seeds[0])
        try:
            self.config(first, 0)
        except ParameterError as error:
            text = f'{error.reason} (drawn by `{SECTION}`)'
            raise ParameterError(error.key, text) from error
        for variable in self.variables:
            values = [variable.draw(seed) for seed in seeds]
            if all(isinstance(value, (int, float)) for value in values):
                extremes = [min(values), max(values)]
            else:
                extremes = list({repr(value): value for value in values}.values())
            for value in extremes:
                try:
                    self.config({**first, variable.name: value}, 0)
                except ParameterError as error:
                    text = f'{error.reason} (drawn by `{SECTION}.{variable.name}`)'
                    raise ParameterError(error.key, text) from error

    # --- keys of the configuration ------------------------------------------------------------

    def _add_key(self, key: str, distribution: Distribution) -> None:
        config = self._config
        head = key.partition('.')[0]
        known = [item.name for item in fields(RunParameters) if item.name != SECTION]
        known += ['hardware', *config.options, config.controller_name]
        if head not in known:
            listed = dict.fromkeys([*QUANTITIES, TERRAIN, PUSH, *known])
            raise ParameterError(f'{SECTION}.{key}', f'unknown; {choices(listed)}')
        mode = distribution.mode or SET
        present = value_at(config.values, key) if mode != SET else None
        if mode != SET and (isinstance(present, bool) or not isinstance(present, (int, float))):
            raise ParameterError(
                f'{SECTION}.{key}.as',
                f'{mode!r} needs a number in the configuration, which has {present!r}',
            )

        def put(changes: dict[str, Any], value: Any) -> None:
            if mode != SET:
                value = present * value if mode == SCALE else present + value
            changes.update(merge(changes, {key: value}))

        self.variables.append(Variable(key, distribution, put))

    # --- quantities of the robot --------------------------------------------------------------

    def _add_quantity(self, kind: str, rest: str, distribution: Distribution) -> None:
        quantity = QUANTITIES[kind]
        key = f'{SECTION}.{kind}.{rest}' if rest else f'{SECTION}.{kind}'
        mode = distribution.mode or quantity.modes[0]
        if mode not in quantity.modes:
            raise ParameterError(
                f'{key}.as', f'{mode!r} is not allowed; {choices(quantity.modes)}'
            )
        if quantity.physics:
            self._require_physics(key)
        if quantity.of == SENSORS:
            self._add_error(kind, rest, distribution)
            return
        elements: Sequence[str] = quantity.elements
        if elements:
            head, _, last = rest.rpartition('.')
            if last in elements:
                rest, elements = head, (last,)
        for targets, label in self._targets(key, quantity, rest):
            for element in elements or ('',):
                part = distribution
                if element:
                    index = quantity.elements.index(element)
                    part = distribution.element(key, index, len(quantity.elements))
                name = '.'.join(word for word in (kind, label, element) if word)
                put = self._putter(kind, quantity, mode, targets, element)
                self.variables.append(Variable(name, part, put))

    def _targets(
        self, key: str, quantity: Quantity, pattern: str
    ) -> list[tuple[tuple[str, ...], str]]:
        """Links or joints that share a draw, with what stands for them in the name of it."""
        if not quantity.of:
            if pattern:
                raise ParameterError(key, f'unknown {pattern!r}; {choices(quantity.elements)}')
            return [((), '')]
        known = self._names(quantity)
        if not pattern:
            return [(tuple(known), '')]
        if pattern in known:
            return [((pattern,), pattern)]
        found = [name for name in known if fnmatchcase(name, pattern)]
        if not found:
            raise ParameterError(key, f'unknown {pattern!r}; {choices(known)}')
        return [((name,), name) for name in found]

    def _names(self, quantity: Quantity) -> list[str]:
        from cnoid_control.hardware.mujoco.deviations import joint_rows, link_bodies

        assert self._mapping is not None
        if quantity is QUANTITIES['posture']:
            return [joint.joint_name for joint in self._body.joints if joint.name]
        if quantity.of == JOINTS:
            return list(joint_rows(self._mapping))
        masses = self._mapping.model.body_mass
        is_mass = quantity is not QUANTITIES['friction']
        return [
            name
            for name, body in link_bodies(self._mapping).items()
            if not is_mass or masses[body] > 0.0
        ]

    def _putter(
        self, kind: str, quantity: Quantity, mode: str, names: tuple[str, ...], element: str
    ) -> Callable[[dict[str, Any], Any], None]:
        """What puts a draw into the changes: into the options of the physics."""
        nominal = {name: self._nominal(kind, name) for name in names}
        everything = kind == 'friction' and names == tuple(self._names(quantity))

        def put(changes: dict[str, Any], value: Any) -> None:
            section = changes.setdefault('hardware', {}).setdefault('mujoco', {})
            if kind == 'command_delay':
                present = self._config.hardware_parameters.command_delay
                section[kind] = present + value if mode == ADD else value
                return
            section = section.setdefault('deviations', {})
            if everything:
                section['friction_scale' if mode == SCALE else 'friction'] = value
                return
            if not names:
                vector = section.setdefault(kind, [0.0, 0.0, 0.0])
                vector[quantity.elements.index(element)] = value
                return
            field = 'link_friction' if kind == 'friction' else kind
            entries = section.setdefault(field, {})
            for name in names:
                if element:
                    vector = entries.setdefault(name, [0.0, 0.0, 0.0])
                    vector[quantity.elements.index(element)] = value
                else:
                    entries[name] = _convert(kind, mode, value, nominal[name])

        return put

    def _nominal(self, kind: str, name: str) -> float:
        """What the model says, where a draw refers to it; else 0."""
        from cnoid_control.hardware.mujoco.deviations import joint_rows, link_bodies

        mapping = self._mapping
        assert mapping is not None
        model = mapping.model
        if kind == 'mass':
            return float(model.body_mass[link_bodies(mapping)[name]])
        if kind == 'friction':
            own = model.geom_bodyid == link_bodies(mapping)[name]
            return float(model.geom_friction[own, 0].max(initial=0.0))
        arrays = {
            'damping': model.dof_damping,
            'armature': model.dof_armature,
            'frictionloss': model.dof_frictionloss,
        }
        if kind not in arrays:
            return 0.0
        return float(arrays[kind][mapping.dofs[joint_rows(mapping)[name]]])

    # --- sensors ------------------------------------------------------------------------------

    def _add_error(self, kind: str, rest: str, distribution: Distribution) -> None:
        """Add an error of a sensor: of all its values, or of each."""
        key = f'{SECTION}.{kind}.{rest}'
        body = self._body
        devices = {device.name: device for device in body.devices}
        known = [*JOINT_SENSORS, *devices]
        sensor, dot, part = rest, '', ''
        if sensor not in known:
            sensor, dot, part = rest.rpartition('.')
        names = [name for name in known if fnmatchcase(name, sensor)] if sensor else []
        if not names:
            raise ParameterError(key, f'unknown sensor {rest!r}; {choices(known)}')
        if not hasattr(self._config.hardware_parameters, 'sensors'):
            raise ParameterError(key, f'hardware {self._config.hardware_type!r} has no sensors')
        for name in names:
            if not dot:
                self._add_error_of(kind, name, '', distribution)
                continue
            if kind == 'delay':
                raise ParameterError(key, 'all values of a sensor have one delay')
            if name in JOINT_SENSORS:
                parts = [joint.joint_name or str(i) for i, joint in enumerate(body.all_joints)]
            else:
                device = devices[name]
                size = sum(getattr(device, field).size for field in device.measured_fields)
                parts = [str(i) for i in range(size)]
            found = [one for one in parts if fnmatchcase(one, part)]
            if not found:
                raise ParameterError(key, f'unknown {part!r}; {choices(parts)}')
            for one in found:
                self._add_error_of(kind, name, one, distribution, parts)

    def _add_error_of(
        self,
        kind: str,
        sensor: str,
        part: str,
        distribution: Distribution,
        parts: Sequence[str] = (),
    ) -> None:
        hardware = self._config.hardware_type

        def put(changes: dict[str, Any], value: Any) -> None:
            section = changes.setdefault('hardware', {}).setdefault(hardware, {})
            errors = section.setdefault('sensors', {}).setdefault(sensor, {})
            if part:
                errors.setdefault(kind, [0.0] * len(parts))[parts.index(part)] = value
            else:
                errors[kind] = value

        name = '.'.join(word for word in (kind, sensor, part) if word)
        self.variables.append(Variable(name, distribution, put))

    # --- the ground ---------------------------------------------------------------------------

    def _add_terrain(self, rest: str, distribution: Distribution) -> None:
        key = f'{SECTION}.{TERRAIN}.{rest}'
        known = [item.name for item in fields(TerrainParameters)]
        if rest not in known:
            raise ParameterError(key, f'unknown; {choices(known)}')
        self._require_physics(key)

        def put(changes: dict[str, Any], value: Any) -> None:
            section = changes.setdefault('hardware', {}).setdefault('mujoco', {})
            section.setdefault(TERRAIN, {})[rest] = value

        if distribution.mode not in ('', SET):
            raise ParameterError(f'{key}.as', f'{distribution.mode!r} is not allowed; {SET}')
        self.variables.append(Variable(f'{TERRAIN}.{rest}', distribution, put))

    def _require_physics(self, key: str) -> None:
        if self._mapping is None:
            raise ParameterError(
                key, f'needs hardware mujoco, and it is {self._config.hardware_type!r}'
            )

    # --- pushes -------------------------------------------------------------------------------

    def _add_push(self, name: str, parts: Mapping[str, Distribution]) -> None:
        key = f'{SECTION}.{PUSH}.{name}'
        self._require_physics(key)
        heads = {part.partition('.')[0] for part in parts}
        for head in heads:
            if not head and name in PUSH_KEYS:
                raise ParameterError(
                    key,
                    f'a push has a name of its own: {PUSH}.NAME.{name}, such as {PUSH}.one.{name}',
                )
            if head not in PUSH_KEYS:
                raise ParameterError(f'{key}.{head}', f'unknown; {choices(PUSH_KEYS)}')
        for needed in ('link', 'force', 'time'):
            if needed not in heads:
                raise ParameterError(f'{key}.{needed}', 'is missing')
        is_horizontal = 'heading' in heads
        whole = parts.get('force')
        if is_horizontal != (whole is not None and not _is_vector(whole)):
            raise ParameterError(
                key,
                'a force is a magnitude with a `heading` [deg], or has the elements x, y and z',
            )
        # The force first: its heading turns it.
        for part in sorted(parts, key=lambda part: part.startswith('heading')):
            distribution = parts[part]
            head, _, element = part.partition('.')
            if distribution.mode:
                raise ParameterError(f'{key}.{part}.as', 'a push has no value to refer to')
            if head == 'point' or (head == 'force' and not is_horizontal):
                if element and element not in XYZ:
                    raise ParameterError(f'{key}.{part}', f'unknown; {choices(XYZ)}')
                for index, axis in enumerate(XYZ):
                    if element in ('', axis):
                        one = distribution if element else distribution.element(key, index, 3)
                        put = self._push_putter(name, head, index)
                        self.variables.append(Variable(f'{PUSH}.{name}.{head}.{axis}', one, put))
            elif element:
                raise ParameterError(f'{key}.{part}', f'unknown; {choices(PUSH_KEYS)}')
            else:
                put = self._push_putter(name, head)
                self.variables.append(Variable(f'{PUSH}.{name}.{head}', distribution, put))

    def _push_putter(
        self, name: str, head: str, index: int | None = None
    ) -> Callable[[dict[str, Any], Any], None]:
        def put(changes: dict[str, Any], value: Any) -> None:
            section = changes.setdefault('hardware', {}).setdefault('mujoco', {})
            push = section.setdefault('pushes', {}).setdefault(name, {})
            if index is not None:
                push.setdefault(head, [0.0, 0.0, 0.0])[index] = value
            elif head == 'force':
                push[head] = [value, 0.0, 0.0]
            elif head == 'heading':
                angle, size = math.radians(value), push['force'][0]
                push['force'] = [size * math.cos(angle), size * math.sin(angle), 0.0]
            else:
                push[head] = value

        return put


def _is_vector(distribution: Distribution) -> bool:
    return any(isinstance(value, list) for value in distribution.given)


def _convert(kind: str, mode: str, value: Any, nominal: float) -> Any:
    """Value of the option for a draw: masses are factors there, the others as they are."""
    if kind == 'mass':
        absolute = {SCALE: nominal * value, ADD: nominal + value, SET: value}[mode]
        return value if mode == SCALE else absolute / nominal
    if kind in ('damping', 'armature', 'frictionloss', 'friction'):
        return {SCALE: nominal * value, ADD: nominal + value, SET: value}[mode]
    return value


def value_at(values: Mapping[str, Any], key: str) -> Any:
    """Value of a nested map by a key with dots; None where there is none."""
    found: Any = values
    for word in key.split('.'):
        if not isinstance(found, Mapping) or word not in found:
            return None
        found = found[word]
    return found
