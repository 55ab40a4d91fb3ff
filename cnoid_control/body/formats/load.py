"""Model loading by file type."""

from __future__ import annotations

from pathlib import Path

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, JointType
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.choreonoid import other_model, parse_body
from cnoid_control.body.formats.resources import read_text, resolve_uri
from cnoid_control.body.formats.urdf import parse_urdf
from cnoid_control.exceptions import choices

URDF_SUFFIXES = ('.urdf',)
BODY_SUFFIXES = ('.body',)


def load_body(path: str | Path, root: JointType | None = None, name: str = '') -> Body:
    """Body from a model file.

    Args:
        path: the file, or a `package://` address of it; the suffix tells the format, .urdf or
            .body.
        root: FREE for a floating base, FIXED for one that is bolted to the world; where None,
            what the file says.
        name: name of this robot; the model's name where empty.

    Raises:
        ModelError: the file is no robot model; the message names the element and its value.
    """
    return Body(load_description(path, root), name)


def load_description(path: str | Path, root: JointType | None = None) -> BodyDescription:
    """Body description from a model file; arguments and errors as of `load_body`."""
    path = resolve_uri(str(path))
    if path.suffix in URDF_SUFFIXES:
        return parse_urdf(read_text(path), str(path), root, path.parent)
    if path.suffix not in BODY_SUFFIXES:
        raise ModelError(
            f'unknown model format; {choices(URDF_SUFFIXES + BODY_SUFFIXES)}', str(path)
        )
    text = read_text(path)
    other = other_model(text, str(path))
    if other is None:
        return parse_body(text, str(path), path.parent, root)
    model = resolve_uri(other, path.parent, str(path))
    if model.suffix in BODY_SUFFIXES:
        raise ModelError(f'sub body {model} is a part of itself', str(path))
    return load_description(model, root)
