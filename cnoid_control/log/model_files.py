"""The robot in a log: its model as text, and its meshes, or where they were."""

from __future__ import annotations

import atexit
import hashlib
import json
import logging
import shutil
import tempfile
from functools import lru_cache
from pathlib import Path

import zstandard

from cnoid_control.body import Body
from cnoid_control.body.body_text import body_from_text, body_to_text, mesh_files
from cnoid_control.body.exceptions import ModelError
from cnoid_control.log.exceptions import LogError
from cnoid_control.log.reader import LogFile

MODEL = 'model.json.zst'
MESHES = 'meshes.json'
# Meshes of a robot are stored up to this size in sum [bytes]; larger ones are only named.
LARGEST = 40_000_000

logger = logging.getLogger(__name__)


def sha256(data: bytes) -> str:
    """Hash of a file's content, in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


def model_attachments(body: Body) -> dict[str, bytes]:
    """Files that `stored_body` makes the robot from again; empty where it has no text.

    Meshes are stored once by their hash. Where they are larger than `LARGEST` in sum, they are
    named by path and hash alone.
    """
    try:
        text = body_to_text(body)
    except ModelError as error:
        logger.warning('the log holds no model: %s', error)
        return {}
    files: dict[str, bytes] = {MODEL: zstandard.compress(text.encode())}
    contents = {path: _content(path) for path in mesh_files(body.description)}
    stored = sum(map(len, contents.values())) <= LARGEST
    table = []
    for path, content in contents.items():
        digest = sha256(content)
        name = f'meshes/{digest}{Path(path).suffix}' if stored else ''
        table.append({'path': path, 'sha256': digest, 'size': len(content), 'file': name})
        if name:
            files[name] = zstandard.compress(content, level=1)
    files[MESHES] = json.dumps(table).encode()
    return files


def _content(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        logger.warning('the log holds no mesh %s: %s', path, error.strerror or error)
        return b''


def stored_body(log: LogFile) -> Body:
    """Robot of a log, in the posture of its model.

    Meshes that the log does not hold are taken from where they were; where they have changed
    since, or are gone, that is said and the shape is left out.

    Raises:
        LogError: the log holds no model, or one that cannot be read.
    """
    if MODEL not in log.attachments:
        log.demand_ticks()
        raise LogError(f'{log.path}: holds no model of the robot')
    try:
        text = zstandard.decompress(log.attachment(MODEL)).decode()
        files = {entry['path']: _place(log, entry) for entry in _table(log)}
        return body_from_text(text, files)
    except (ModelError, zstandard.ZstdError, UnicodeDecodeError, KeyError) as error:
        raise LogError(f'{log.path}: its model cannot be read: {error}') from error


def _table(log: LogFile) -> list[dict[str, str]]:
    entries: list[dict[str, str]] = json.loads(log.attachment(MESHES))
    return entries


def _place(log: LogFile, entry: dict[str, str]) -> str:
    """Where a mesh is now; empty for nowhere."""
    if entry['file']:
        path = temporary_folder() / Path(entry['file']).name
        if not path.exists():
            path.write_bytes(zstandard.decompress(log.attachment(entry['file'])))
        return str(path)
    path = Path(entry['path'])
    try:
        if sha256(path.read_bytes()) == entry['sha256']:
            return str(path)
        reason = 'it is another one by now'
    except OSError as error:
        reason = str(error.strerror or error)
    logger.warning('%s: the mesh %s is left out: %s', log.path, path, reason)
    return ''


@lru_cache(maxsize=1)
def temporary_folder() -> Path:
    """Folder for files of logs that is removed when this process ends."""
    folder = Path(tempfile.mkdtemp(prefix='cnoid_control_log_'))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
