"""Model loading by file type."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from cnoid_control.body.body import Body
from cnoid_control.body.description import BodyDescription, JointType
from cnoid_control.body.exceptions import ModelError
from cnoid_control.body.formats.resources import read_text, resolve_uri
from cnoid_control.exceptions import choices

logger = logging.getLogger(__name__)

URDF_SUFFIXES = ('.urdf',)
XACRO_SUFFIXES = ('.xacro',)
MJCF_SUFFIXES = ('.xml', '.mjcf')
BODY_SUFFIXES = ('.body',)


def load_body(
    path: str | Path,
    root: JointType | None = None,
    name: str = '',
    arguments: Mapping[str, Any] | None = None,
) -> Body:
    """Body from a model file.

    Args:
        path: the file, or a `package://` address of it; the suffix tells the format: .urdf,
            .xacro, .xml (MJCF, or URDF by its root element) or .body.
        root: FREE for a floating base, FIXED for one that is bolted to the world; where None,
            what the file says.
        name: name of this robot; the model's name where empty.
        arguments: values of a xacro file's arguments by name.

    Raises:
        ModelError: the file is no robot model; the message names the element and its value.
    """
    return Body(load_description(path, root, arguments), name)


def load_description(
    path: str | Path, root: JointType | None = None, arguments: Mapping[str, Any] | None = None
) -> BodyDescription:
    """Body description from a model file; arguments and errors as of `load_body`.

    What was assumed is logged and stays in the description's `warnings`.
    """
    description = _load(resolve_uri(str(path)), root, arguments)
    for warning in description.warnings:
        logger.warning('%s', warning)
    return description


def _load(
    path: Path, root: JointType | None, arguments: Mapping[str, Any] | None = None
) -> BodyDescription:
    # The reader of a format is imported where a file has that format.
    if path.suffix in XACRO_SUFFIXES:
        from cnoid_control.body.formats.urdf import parse_urdf
        from cnoid_control.body.formats.xacro_file import expand_xacro

        return parse_urdf(expand_xacro(path, arguments), str(path), root, path.parent)
    if arguments:
        raise ModelError(
            f'takes no arguments ({", ".join(arguments)}): only a .xacro file has them', str(path)
        )
    if path.suffix in URDF_SUFFIXES or (path.suffix in MJCF_SUFFIXES and _is_urdf(path)):
        from cnoid_control.body.formats.urdf import parse_urdf

        return parse_urdf(read_text(path), str(path), root, path.parent)
    if path.suffix in MJCF_SUFFIXES:
        from cnoid_control.body.formats.mjcf import parse_mjcf

        return parse_mjcf(path, root)
    if path.suffix not in BODY_SUFFIXES:
        known = choices(URDF_SUFFIXES + XACRO_SUFFIXES + MJCF_SUFFIXES + BODY_SUFFIXES)
        raise ModelError(f'unknown model format; {known}', str(path))
    return _load_choreonoid(path, root)


def _load_choreonoid(path: Path, root: JointType | None) -> BodyDescription:
    """Description from a .body file, which may say that the model is another file."""
    from cnoid_control.body.formats.choreonoid import other_model, parse_body

    text = read_text(path)
    other = other_model(text, str(path))
    if other is None:
        return parse_body(text, str(path), path.parent, root)
    model = resolve_uri(other, path.parent, str(path))
    if model.suffix in BODY_SUFFIXES:
        raise ModelError(f'sub body {model} is a part of itself', str(path))
    return _load(model, root)


def _is_urdf(path: Path) -> bool:
    """Whether an XML file has the root element of a URDF; MuJoCo would read a part of it."""
    try:
        _, first = next(ElementTree.iterparse(path, events=('start',)))
    except (OSError, ElementTree.ParseError, StopIteration):
        return False
    return bool(first.tag == 'robot')
