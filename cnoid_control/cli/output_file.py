"""Files that a command is to write: refused before anything is done, not at the end."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError, choices

# How files begin, by suffix; of others nothing is known.
BEGINNINGS: dict[str, bytes] = {
    '.eps': rb'%!PS',
    '.gif': rb'GIF8',
    '.jpeg': rb'\xff\xd8',
    '.jpg': rb'\xff\xd8',
    '.journal': rb'\{"op_code"',
    '.mcap': rb'\x89MCAP0',
    '.mp4': rb'.{4}ftyp',
    '.parquet': rb'PAR1',
    '.pdf': rb'%PDF',
    '.png': rb'\x89PNG',
    '.ps': rb'%!PS',
    '.svg': rb'<\?xml|<svg',
    '.tif': rb'II|MM',
    '.tiff': rb'II|MM',
    '.urdf': rb'\s*(<\?xml|<!--|<robot)',
    '.webp': rb'RIFF',
    '.xml': rb'\s*<',
}
# Bytes at the start of a file that tell what it is.
TELLING = 400


def check_output(
    argument: str,
    path: str | Path,
    suffixes: Iterable[str],
    inputs: Iterable[str | Path] = (),
    begins: str = '',
) -> None:
    """Refuse a file that cannot or must not be written; its folder is made.

    Args:
        argument: what asks for it, for messages: '--log'.
        path: the file.
        suffixes: what its name may end with: '.mcap'.
        inputs: files that are read, and must not be overwritten.
        begins: regular expression for how such a file begins, where the suffix tells too little:
            what a command wrote before is overwritten, what somebody has written is not.

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
            start = file.read(TELLING)
    except OSError as error:
        raise _refused(argument, path, error.strerror or str(error)) from error
    if start and not re.match(BEGINNINGS.get(suffix, b''), start, re.DOTALL):
        raise _refused(argument, path, f'what is there is no {suffix} file; choose another name')
    if start and not re.match(begins.encode(), start, re.DOTALL):
        raise _refused(
            argument, path, 'what is there was not written by this command; choose another name'
        )


def _refused(argument: str, path: Path, reason: str) -> CnoidControlError:
    return CnoidControlError(f'{argument} {path} cannot be written: {reason}')
