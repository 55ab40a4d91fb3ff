"""Finds the files that models refer to."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from xml.etree import ElementTree

from cnoid_control.body.exceptions import ModelError, PathOutsidePackage, invalid_value
from cnoid_control.share import NAME as OWN_PACKAGE
from cnoid_control.share import share_folder

PACKAGE_SCHEME = 'package://'
FILE_SCHEME = 'file://'
MANIFEST = 'package.xml'


def resolve_uri(uri: str, folder: Path | None = None, source: str = '') -> Path:
    """Path that an address stands for; the file need not exist.

    Args:
        uri: `package://NAME/...`, `file://...`, or a path; a relative one counts from `folder`.
        folder: folder of the model that says it; the current one where None.
        source: model file, for messages.

    Raises:
        ModelError: there is no such package.
        PathOutsidePackage: a package address that leads out of its package.
    """
    folder = Path.cwd() if folder is None else folder
    if not uri.startswith(PACKAGE_SCHEME):
        return folder / uri.removeprefix(FILE_SCHEME)
    name, _, rest = uri.removeprefix(PACKAGE_SCHEME).partition('/')
    package = find_package(name, folder, source)
    path = package / rest
    # The path is compared as written, not resolved: installs may be made of symbolic links.
    if not Path(os.path.normpath(path)).is_relative_to(package):
        raise PathOutsidePackage(uri, package, source)
    return path


def find_package(name: str, folder: Path, source: str = '') -> Path:
    """Folder with the shared files of a package.

    Looked for among the installed ROS packages, the folders around the model, the Python packages
    (the folder of a checkout, which has package.xml beside them, or their own), and what pip
    installed to share/.

    Raises:
        ModelError: there is no such package.
    """
    if name == OWN_PACKAGE:
        return share_folder()
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    shares = [Path(prefix) / 'share' / name for prefix in prefixes if prefix]
    around = [folder.absolute(), *folder.absolute().parents]
    beside = [parent for parent in around if parent.name == name]
    beside += [parent / name for parent in around]
    pip_share = Path(sys.prefix) / 'share' / name
    candidates = [*shares, *_python_folders(name), pip_share, *beside]
    if name and name not in ('.', '..'):
        for candidate in candidates:
            if (candidate / MANIFEST).is_file():
                return candidate
        for parent in around:
            # A checkout may have another name than its package.
            if _package_name(parent / MANIFEST) == name:
                return parent
        for candidate in beside:
            if candidate.is_dir():
                return candidate
    searched = ', '.join(str(folder) for folder in [*shares, *around, pip_share])
    raise ModelError(f'package {name!r} is not found; searched: {searched}', source)


def _package_name(manifest: Path) -> str:
    """Name that a package.xml states; empty where there is none that can be read."""
    try:
        return (ElementTree.parse(manifest).getroot().findtext('name') or '').strip()
    except (OSError, ElementTree.ParseError):
        return ''


def _python_folders(name: str) -> list[Path]:
    if not name.isidentifier():
        return []
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return []
    own = Path(next(iter(spec.submodule_search_locations)))
    return [own.parent, own]


def package_folder(path: Path) -> Path:
    """Folder of the package that a file belongs to; the file's own where there is none."""
    for parent in path.absolute().parents:
        if (parent / MANIFEST).is_file():
            return parent
    return path.absolute().parent


def read_text(path: Path, tolerant: bool = False) -> str:
    """Text of a model file.

    Args:
        path: the file.
        tolerant: whether other bytes than UTF-8 are let pass, as in the comments of old scenes.

    Raises:
        ModelError: it cannot be read.
        ModelError: it is not UTF-8 text.
    """
    try:
        return path.read_text(encoding='utf-8', errors='replace' if tolerant else 'strict')
    except OSError as error:
        raise ModelError(f'cannot be read: {error.strerror or str(error)}', str(path)) from error
    except UnicodeDecodeError as error:
        raise invalid_value('the file', 'text', error.reason, 'UTF-8', str(path)) from error
