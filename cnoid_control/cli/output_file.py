"""Files that a command is to write: refused before anything is done, not at the end."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError, choices

# How files begin, by suffix; of others nothing is known.
BEGINNINGS: dict[str, tuple[bytes, ...]] = {
    '.gif': (b'GIF8',),
    '.jpeg': (b'\xff\xd8',),
    '.jpg': (b'\xff\xd8',),
    '.mcap': (b'\x89MCAP0',),
    '.parquet': (b'PAR1',),
    '.pdf': (b'%PDF',),
    '.png': (b'\x89PNG',),
}


def check_output(
    argument: str, path: str | Path, suffixes: Iterable[str], inputs: Iterable[str | Path] = ()
) -> None:
    """Refuse a file that cannot or must not be written; its folder is made.

    Args:
        argument: what asks for it, for messages: '--log'.
        path: the file.
        suffixes: what its name may end with: '.mcap'.
        inputs: files that are read, and must not be overwritten.

    Raises:
        CnoidControlError: it is of another kind, it is a folder or an input, what is there under
            its name is of another kind, or its folder cannot be made or written to.
    """
    path, allowed = Path(path), list(suffixes)
    suffix = path.suffix.lower()
    if suffix not in allowed:
        raise _refused(argument, path, f'its name must end otherwise; {choices(allowed)}')
    if path.is_dir():
        raise _refused(argument, path, 'it is a folder')
    if any(Path(one).exists() and path.exists() and path.samefile(one) for one in inputs):
        raise _refused(argument, path, 'it is what is read')
    was_there = path.exists()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open('ab'):
            pass
        if not was_there:
            path.unlink()
            return
        with path.open('rb') as file:
            start = file.read(16)
    except OSError as error:
        raise _refused(argument, path, error.strerror or str(error)) from error
    beginnings = BEGINNINGS.get(suffix, ())
    if start and beginnings and not start.startswith(beginnings):
        raise _refused(argument, path, f'what is there is no {suffix} file; choose another name')


def _refused(argument: str, path: Path, reason: str) -> CnoidControlError:
    return CnoidControlError(f'{argument} {path} cannot be written: {reason}')
