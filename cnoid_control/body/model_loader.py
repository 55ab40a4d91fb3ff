"""Loads a robot from a model file of any format that is known."""

from __future__ import annotations

from pathlib import Path

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription
from cnoid_control.body.exceptions import InvalidValue, ModelFileNotFound, UnknownModelFormat
from cnoid_control.body.joint_type import JointType
from cnoid_control.body.resources import resolve_uri
from cnoid_control.body.urdf_loader import parse_urdf

SUFFIXES = ('.urdf',)


def load_body(path: str | Path, root: JointType | None = None, name: str = '') -> Body:
    """Body from a model file.

    Args:
        path: the file, or a `package://` address of it; the suffix tells the format.
        root: FREE for a floating base, FIXED for one that is bolted to the world; where None,
            what the file says.
        name: name of this robot; the model's name where empty.

    Raises:
        ModelError: the subclass that names what is wrong with the file.
    """
    return Body(load_description(path, root), name)


def load_description(path: str | Path, root: JointType | None = None) -> BodyDescription:
    """Body description from a model file; arguments and errors as of `load_body`."""
    path = resolve_uri(str(path))
    if path.suffix not in SUFFIXES:
        raise UnknownModelFormat(str(path), SUFFIXES)
    text = read_text(path)
    return parse_urdf(text, str(path), root, path.parent)


def read_text(path: Path) -> str:
    """Text of a model file.

    Raises:
        ModelFileNotFound: it cannot be read.
        InvalidValue: it is not UTF-8 text.
    """
    try:
        return path.read_text(encoding='utf-8')
    except OSError as error:
        raise ModelFileNotFound(str(path), error.strerror or str(error)) from error
    except UnicodeDecodeError as error:
        raise InvalidValue('the file', 'text', error.reason, 'UTF-8', str(path)) from error
