"""Configurations and options of every wrong kind: refused by name, or taken, and nothing else."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given
from hypothesis import strategies as st

from cnoid_control.exceptions import CnoidControlError
from cnoid_control.parameters import parse_parameters
from cnoid_control.plugin.registry import controller_names, find_controller
from cnoid_control.runtime.config import load_config, parse_config, read_parameter_file
from cnoid_control.runtime.safety.limits import LimitsParameters
from cnoid_control.runtime.safety.safe_state import SafeStateParameters
from cnoid_control.runtime.safety.watchdog import WatchdogParameters

SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=12),
    st.binary(max_size=4),
    st.sampled_from([math.nan, math.inf, -math.inf, -0.0, 2**70, '', '../..', '~', '!!python/x']),
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)


def refusal(parse: Callable[[], Any]) -> str:
    """Call something; what it refused with, empty where it did not."""
    try:
        parse()
    except CnoidControlError as error:
        return str(error) or 'no reason at all'
    return ''


def keys_of(schema: type) -> st.SearchStrategy[str]:
    """Names of options, right ones and others."""
    names = [field.name for field in dataclasses.fields(schema)]
    return st.one_of(st.sampled_from(names), st.text(max_size=8))


@given(data=st.data())
def test_fuzz_sections(data: st.DataObject) -> None:
    """A section is parsed or refused with a message that names the key."""
    schema = data.draw(
        st.sampled_from([LimitsParameters, WatchdogParameters, SafeStateParameters])
    )
    values = data.draw(st.dictionaries(keys_of(schema), VALUES, max_size=5))
    reason = refusal(lambda: parse_parameters(schema, values, 'section'))
    assert not reason or reason.startswith('section')


@given(data=st.data())
def test_fuzz_controller_options(data: st.DataObject) -> None:
    """Options of every shipped controller are parsed or refused; nothing else is raised."""
    schema = find_controller(data.draw(st.sampled_from(controller_names()))).Parameters
    if schema is None:
        return
    values = data.draw(st.dictionaries(keys_of(schema), VALUES, max_size=4))
    assert refusal(lambda: parse_parameters(schema, values, 'controller')) != 'no reason at all'


def places(values: Any, prefix: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all values of a nested mapping."""
    found = [prefix] if prefix else []
    if isinstance(values, dict):
        for key, value in values.items():
            found += places(value, (*prefix, key))
    return found


def with_value(values: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Copy of a nested mapping with one value put elsewhere."""
    if not place:
        return value
    return {**values, place[0]: with_value(values.get(place[0], {}), place[1:], value)}


SR1 = load_config('sr1_pd').values
SR1_PLACES = places(SR1)


@given(place=st.sampled_from(SR1_PLACES), value=VALUES, extra=st.text(max_size=8))
def test_fuzz_whole_configurations(place: tuple[Any, ...], value: Any, extra: str) -> None:
    """A good configuration with one value spoilt, or one key more, is taken or refused."""
    for values in (with_value(SR1, place, value), with_value(SR1, (*place[:-1], extra), value)):
        assert refusal(lambda values=values: parse_config(values)) != 'no reason at all'


@given(text=st.one_of(st.text(max_size=60), st.binary(max_size=60), VALUES.map(yaml.safe_dump)))
def test_fuzz_parameter_files(tmp_path_factory: Any, text: str | bytes) -> None:
    """Any file is read as parameters or refused with its name."""
    path: Path = tmp_path_factory.mktemp('config') / 'fuzz.yaml'
    path.write_bytes(text if isinstance(text, bytes) else text.encode('utf-8', 'surrogatepass'))
    reason = refusal(lambda: read_parameter_file(path))
    assert not reason or 'fuzz.yaml' in reason
    path.unlink()
    path.parent.rmdir()
