"""Files of a run in its log: the controllers' source and what the configuration names."""

from __future__ import annotations

import dataclasses
import inspect
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
import zstandard

from cnoid_control.hardware.registry import observable_devices
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.model_files import sha256, temporary_folder
from cnoid_control.log.reader import LogFile
from cnoid_control.plugin.registry import find_object, is_file_plugin
from cnoid_control.runtime.config import RunConfig, parse_config
from cnoid_control.runtime.loop import ControlLoop
from cnoid_control.runtime.recorder import Recorder

CONFIG = 'config.yaml'
CONTROLLERS = 'controllers.json'
FILES = 'files.json'
# Files larger than this are named by path and hash alone [bytes].
LARGEST = 40_000_000

logger = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class StoredSource:
    """A controller's source in a log.

    Attributes:
        name: name of the controller in the run.
        type: entry point, module or file by which the configuration names it.
        path: file that it came from.
        sha256: hash of its text.
        file: attachment that holds the text.
    """

    name: str
    type: str
    path: str
    sha256: str
    file: str


def run_files(config: RunConfig) -> dict[str, bytes]:
    """Configuration, controllers' sources and files that the configuration names, for a log."""
    text = yaml.safe_dump({'/**': {'ros__parameters': config.values}}, sort_keys=False)
    files = {CONFIG: text.encode()}
    sources = []
    for name, kind in _controllers(config).items():
        path = _source_path(kind, config.folder)
        if path is None:
            continue
        content = path.read_bytes()
        stored = f'controllers/{name}.py'
        sources.append(StoredSource(name, kind, str(path), sha256(content), stored))
        files[stored] = content
    files[CONTROLLERS] = json.dumps([dataclasses.asdict(one) for one in sources]).encode()
    table = []
    for value, path in _named_files(config).items():
        content = path.read_bytes()
        stored = f'files/{sha256(content)}{path.suffix}' if len(content) <= LARGEST else ''
        table.append({'value': value, 'sha256': sha256(content), 'file': stored})
        if stored:
            files[stored] = zstandard.compress(content)
    files[FILES] = json.dumps(table).encode()
    return files


def record_run(
    path: str | Path, loop: ControlLoop, config: RunConfig, real_time: bool = False
) -> Recorder:
    """Have a loop that has not begun record itself, with all that belongs to the run.

    Args:
        path: the file; an old one is replaced.
        loop: the loop.
        config: its configuration.
        real_time: whether the loop must not wait for the file.
    """
    body = loop.hardware.body
    loop.observed |= set(observable_devices(config.hardware_type, body))
    loop.recorder = recorder = Recorder(
        path,
        body,
        config.to_text(),
        config.parameters.devices,
        real_time,
        attachments=run_files(config),
        things=getattr(loop.hardware, 'things', None),
        controllers=lambda: loop.host.ios(),
    )
    return recorder


def _controllers(config: RunConfig) -> dict[str, str]:
    """Every controller that the run may use, with what names its class."""
    given = config.parameters
    found = {config.controller_name: config.controller_type}
    found |= {name: other.type or name for name, other in given.other_controllers.items()}
    found |= {name: other.type or name for name, other in given.standby.items()}
    if given.safe_state.fallback:
        found.setdefault(given.safe_state.fallback, config.type_of(given.safe_state.fallback))
    return found


def _source_path(kind: str, folder: Path) -> Path | None:
    try:
        path = inspect.getsourcefile(find_object(kind, folder))
    except TypeError:
        return None
    return Path(path) if path else None


def _named_files(config: RunConfig) -> dict[str, Path]:
    """Files besides the model that values of the configuration name, by those values."""
    found: dict[str, Path] = {}

    def look(value: str) -> str:
        path = config.folder / Path(value).expanduser()
        if Path(value).suffix not in ('', '.py') and path.is_file():
            found[value] = path
        return value

    _changed({key: part for key, part in config.values.items() if key != 'robot'}, look)
    return found


def _changed(value: Any, change: Callable[[str], str]) -> Any:
    """Value with a change made to every text in it."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {key: _changed(part, change) for key, part in value.items()}
    if isinstance(value, list):
        return [_changed(part, change) for part in value]
    return value


def stored_sources(log: LogFile) -> list[StoredSource]:
    """Sources of the controllers that a log holds."""
    if CONTROLLERS not in log.attachments:
        return []
    return [StoredSource(**one) for one in json.loads(log.attachment(CONTROLLERS))]


def changed_sources(log: LogFile, config: RunConfig) -> list[str]:
    """What is not as it was in the run, one sentence each.

    Raises:
        LogError: a controller's file is gone.
    """
    told = []
    for source in stored_sources(log):
        if is_file_plugin(source.type) and not Path(source.path).is_file():
            raise LogError(
                f'{log.path}: controller {source.name!r} was in {source.path}, which is gone; the '
                'log holds its source: replay --recorded runs that'
            )
        path = _source_path(source.type, config.folder)
        if path is not None and sha256(path.read_bytes()) != source.sha256:
            told.append(f'controller {source.name!r} has changed since: {path}')
    return told


def as_recorded(log: LogFile, config: RunConfig) -> RunConfig:
    """Configuration whose controllers and files are those that the log holds.

    Controllers that the configuration names by an entry point or a module are those that are
    installed.
    """
    folder = temporary_folder() / sha256(str(log.path.resolve()).encode())[:12]
    folder.mkdir(exist_ok=True)
    moved: dict[str, str] = {}
    for source in stored_sources(log):
        if is_file_plugin(source.type):
            path = folder / f'{source.sha256[:12]}_{Path(source.path).name}'
            path.write_bytes(log.attachment(source.file))
            moved[source.type] = f'{path}:{source.type.rsplit(":", 1)[1]}'
    table = json.loads(log.attachment(FILES)) if FILES in log.attachments else []
    for entry in table:
        if entry['file']:
            path = folder / Path(entry['file']).name
            path.write_bytes(zstandard.decompress(log.attachment(entry['file'])))
            moved[entry['value']] = str(path)
    # Controllers are known by absolute paths, and may be given by others.
    values = _changed(
        config.values, lambda text: moved.get(text, moved.get(str(config.folder / text), text))
    )
    return parse_config(values, config.name, config.folder)
