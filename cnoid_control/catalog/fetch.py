"""Fetching of robots: pip downloads a wheel, and the folders that are needed are unpacked."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

from cnoid_control.catalog.models import cache_folder, item_folder
from cnoid_control.catalog.table import Item, Wheel
from cnoid_control.exceptions import CnoidControlError

PARTIAL = '.partial-'
# Age from which on a partial folder is one that a killed process has left behind [s].
STALE = 86400.0
# Space that is asked for beyond the files themselves [B].
MARGIN = 10_000_000

# What pip prints when it cannot reach an index, in its various versions.
NO_NETWORK = (
    'NewConnectionError',
    'ConnectionError',
    'Failed to establish a new connection',
    'name resolution',
    'Name or service not known',
    'Max retries exceeded',
    'ReadTimeout',
    'ConnectTimeout',
    'ProxyError',
    'connection broken',
)
WRONG_HASH = 'DO NOT MATCH THE HASHES'
NO_SPACE = 'No space left on device'


def fetch(item: Item) -> Path:
    """Model file of an item, in the cache; downloaded and unpacked where it is not there yet.

    The item's folder appears with all its files at once, or not at all.

    Raises:
        CnoidControlError: it cannot be had; the message says why.
    """
    folder = item_folder(item)
    if (folder / item.file).is_file():
        return folder / item.file
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(folder.parent)
        wheel = _download(item.wheel)
        _demand_space(item.size)
        with _partial(folder.parent) as partial:
            _unpack(wheel, item, partial)
            _publish(partial, folder)
    except OSError as error:
        raise _cache_error(error) from error
    return folder / item.file


def _download(wheel: Wheel) -> Path:
    """Wheel file in the cache, with the right hash."""
    store = cache_folder() / 'wheels'
    store.mkdir(parents=True, exist_ok=True)
    path = store / f'{wheel.name}.whl'
    if path.is_file():
        if _sha256(path) == wheel.sha256:
            return path
        path.unlink()
    _remove_stale(store)
    _demand_space(wheel.size)
    with _partial(store) as partial:
        _run_pip(wheel, partial)
        files = list(partial.glob('*.whl'))
        # pip has compared it; a pip that does not must not be trusted.
        if len(files) != 1 or _sha256(files[0]) != wheel.sha256:
            raise _wrong_hash(wheel)
        os.replace(files[0], path)
    return path


def _run_pip(wheel: Wheel, folder: Path) -> None:
    """Download a wheel into a folder, from the index that the user's pip is set up with."""
    requirement = folder / 'requirement.txt'
    requirement.write_text(
        f'{wheel.project}=={wheel.version} --hash=sha256:{wheel.sha256}\n', encoding='utf-8'
    )
    command = [sys.executable, '-m', 'pip', 'download', '--no-deps', '--require-hashes']
    command += ['--only-binary', ':all:', '--no-input', '--disable-pip-version-check']
    command += ['--dest', str(folder), '--requirement', str(requirement)]
    if not sys.stderr.isatty():
        command.append('--quiet')
    # pip draws its progress on the standard output; that is for the result.
    result = subprocess.run(command, stdout=2, stderr=subprocess.PIPE, text=True, check=False)
    if result.returncode:
        raise _pip_error(wheel, result.stderr)


def _pip_error(wheel: Wheel, text: str) -> CnoidControlError:
    """One line for what pip says in many."""
    what = f'{wheel.project} {wheel.version}'
    if WRONG_HASH in text:
        return _wrong_hash(wheel)
    if NO_SPACE in text:
        return _cache_error(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)))
    if any(sign in text for sign in NO_NETWORK):
        return CnoidControlError(
            f'{what} cannot be downloaded: pip reaches no package index; is there a network, '
            'and is pip set up for it?'
        )
    if 'No module named pip' in text:
        return CnoidControlError(
            f'{what} cannot be downloaded: {sys.executable} has no pip; install it, for example '
            'with python3 -m ensurepip'
        )
    if 'No matching distribution' in text or 'Could not find a version' in text:
        return CnoidControlError(
            f'{what} cannot be downloaded: the package index that pip is set up with does not '
            'have it'
        )
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    reason = lines[-1] if lines else 'pip does not say why'
    return CnoidControlError(f'{what} cannot be downloaded: {reason}')


def _wrong_hash(wheel: Wheel) -> CnoidControlError:
    return CnoidControlError(
        f'{wheel.project} {wheel.version}: the downloaded file is not the one that is expected '
        f'(sha256 {wheel.sha256[:12]}...); nothing was unpacked'
    )


def _unpack(wheel: Path, item: Item, folder: Path) -> None:
    """Unpack the folders of an item, and the licences of the wheel, below a folder."""
    wanted = tuple(f'{name}/' for name in item.folders)
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            if member.is_dir() or not (
                member.filename.startswith(wanted) or _is_licence(member.filename)
            ):
                continue
            target = folder / member.filename
            if '..' in target.parts or not target.is_relative_to(folder):
                raise CnoidControlError(f'{wheel}: {member.filename!r} leads out of the folder')
            target.parent.mkdir(parents=True, exist_ok=True)
            # Reading to the end compares the checksum of the file.
            with archive.open(member) as source, target.open('wb') as file:
                shutil.copyfileobj(source, file)
    if not (folder / item.file).is_file():
        raise CnoidControlError(f'{wheel} does not hold {item.file}')


def _is_licence(name: str) -> bool:
    folder, _, file = name.partition('/')
    return folder.endswith('.dist-info') and (file == 'METADATA' or file.startswith('licenses/'))


def _publish(partial: Path, folder: Path) -> None:
    """Give a complete folder its name; where another process was faster, its folder stays."""
    try:
        partial.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise


@contextlib.contextmanager
def _partial(parent: Path) -> Iterator[Path]:
    """Folder to prepare something in; gone afterwards unless it was renamed."""
    folder = Path(tempfile.mkdtemp(prefix=PARTIAL, dir=parent))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _remove_stale(parent: Path) -> None:
    """Remove what processes that were killed have left."""
    for folder in parent.glob(f'{PARTIAL}*'):
        with contextlib.suppress(OSError):
            if time.time() - folder.stat().st_mtime > STALE:
                shutil.rmtree(folder, ignore_errors=True)


def _demand_space(size: int) -> None:
    free = shutil.disk_usage(cache_folder()).free
    if free < size + MARGIN:
        raise CnoidControlError(
            f'{cache_folder()} has {free / 1e6:.0f} MB of free space, and '
            f'{(size + MARGIN) / 1e6:.0f} MB are needed; make room, or set CNOID_CONTROL_CACHE to '
            'a folder elsewhere'
        )


def _cache_error(error: OSError) -> CnoidControlError:
    return CnoidControlError(
        f'{cache_folder()} cannot be written: {error.strerror or error}; make room, or set '
        'CNOID_CONTROL_CACHE to a folder elsewhere'
    )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
