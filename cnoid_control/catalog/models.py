"""Robot models by path or name: a file, one of the package's own, or one in the cache."""

from __future__ import annotations

import os
from pathlib import Path

from cnoid_control.catalog.table import ITEMS, Item
from cnoid_control.exceptions import CnoidControlError
from cnoid_control.share import NAME, share_folder

FOLDERS = {'robot': 'robots', 'policy': 'policies'}


def cache_folder() -> Path:
    """Folder for downloads: $CNOID_CONTROL_CACHE, or cnoid_control in the user's cache."""
    own = os.environ.get('CNOID_CONTROL_CACHE')
    if own:
        return Path(own).expanduser().absolute()
    # As the XDG specification says, a relative path does not count.
    shared = Path(os.environ.get('XDG_CACHE_HOME', ''))
    return (shared if shared.is_absolute() else Path.home() / '.cache') / NAME


def item_folder(item: Item) -> Path:
    """Folder in the cache that holds an item, or would."""
    return cache_folder() / FOLDERS[item.kind] / item.wheel.name / item.name


def cached_model(name: str) -> Path | None:
    """Model file of a robot in the cache; None where it is not there."""
    item = ITEMS.get(name)
    if item is None:
        return None
    path = item_folder(item) / item.file
    return path if path.is_file() else None


def find_policy(name: str | Path) -> Path:
    """Path of a policy: a file, one of the package's own, or one in the cache.

    Raises:
        CnoidControlError: there is no such policy; the message says where it was looked for.
    """
    text = str(name)
    if Path(text).is_file():
        return Path(text)
    shared = share_folder() / 'policy'
    for candidate in (shared / text, shared / f'{text}.onnx'):
        if candidate.is_file():
            return candidate
    own = sorted(file.stem for file in shared.glob('*.onnx'))
    known = [item for item, entry in ITEMS.items() if entry.kind == 'policy']
    if text in known:
        cached = cached_model(text)
        if cached is None:
            raise CnoidControlError(
                f'policy {text!r} is not in the cache yet: run `cnoid_control get {text}`'
            )
        return cached
    raise CnoidControlError(
        f'no policy file {text!r}, and none of that name is there ({", ".join(own)}) or can be '
        f'had: {", ".join(known)}'
    )


def find_model(name: str | Path, folder: Path | None = None) -> str:
    """Path, or `package://` address, of a robot model.

    Args:
        name: an address, a path, the name of a model in the package's urdf/ (with its suffix or
            without), or the name of a robot that `cnoid_control get` has put into the cache.
        folder: folder that a relative path starts from; the working folder where None.

    Raises:
        CnoidControlError: there is no such model; the message says where it was looked for.
    """
    text = str(name)
    if '://' in text:
        return text
    path = (folder or Path()) / Path(text).expanduser()
    if path.is_file():
        return str(path)
    shared = share_folder() / 'urdf'
    for candidate in (shared / text, shared / f'{text}.urdf'):
        if candidate.is_file():
            return str(candidate)
    if text in ITEMS and ITEMS[text].kind == 'policy':
        raise CnoidControlError(
            f'{text!r} is a policy and no robot: it is the `policy.file` of a configuration'
        )
    cached = cached_model(text)
    if cached is not None:
        return str(cached)
    if text in ITEMS:
        raise CnoidControlError(
            f'model {text!r} is not in the cache yet: run `cnoid_control get {text}`'
        )
    if Path(text).suffix or len(Path(text).parts) > 1:
        # A path, which no name in the lists would help.
        raise CnoidControlError(f'no model {text!r}: there is no file {path.absolute()}')
    own = ', '.join(sorted(file.stem for file in shared.glob('*.urdf')))
    there = (
        ', '.join(
            item for item, entry in ITEMS.items() if entry.kind == 'robot' and cached_model(item)
        )
        or 'no robot'
    )
    raise CnoidControlError(
        f'no model {text!r}: no file {path}, none in {shared} ({own}) and none in the cache '
        f'{cache_folder()} ({there}); `cnoid_control get` lists the robots that can be had'
    )
