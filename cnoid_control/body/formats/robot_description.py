"""URDF of any robot for other programs, such as RViz, controller_manager and Gazebo."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree import ElementTree

from cnoid_control.body.description import BodyDescription
from cnoid_control.body.formats.resources import FILE_SCHEME, PACKAGE_SCHEME, resolve_uri
from cnoid_control.body.formats.urdf_writer import write_urdf
from cnoid_control.body.formats.xml_reader import XmlReader

Element = ElementTree.Element


def robot_description(description: BodyDescription, folder: Path) -> Element:
    """URDF of a robot, whatever format it was read from, with addresses that others can follow.

    Meshes that are given by a relative path, or in a package that is not in the ament index, are
    named by their absolute path.

    Args:
        description: the robot.
        folder: where files are written that the URDF of another format needs.

    Raises:
        ModelError: the robot cannot be written as URDF.
    """
    if description.urdf:
        source = Path(description.source)
        beside = source.parent if source.is_file() else folder
        robot = XmlReader(description.urdf, description.source).root
    else:
        path = folder / f'{description.name or "robot"}.urdf'
        write_urdf(description, path)
        beside = folder
        robot = XmlReader(path.read_text(encoding='utf-8'), str(path)).root
    for mesh in robot.iter('mesh'):
        address = mesh.get('filename', '')
        if address and not _is_installed(address):
            mesh.set('filename', FILE_SCHEME + str(resolve_uri(address, beside).absolute()))
    return robot


def _is_installed(address: str) -> bool:
    """Whether an address is in a package that every ROS program finds."""
    if not address.startswith(PACKAGE_SCHEME):
        return False
    name = address.removeprefix(PACKAGE_SCHEME).partition('/')[0]
    prefixes = [prefix for prefix in os.environ.get('AMENT_PREFIX_PATH', '').split(':') if prefix]
    index = Path('share', 'ament_index', 'resource_index', 'packages', name)
    return any((Path(prefix) / index).exists() for prefix in prefixes)


def to_text(robot: Element) -> str:
    """Text of a URDF."""
    ElementTree.indent(robot)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(robot, encoding='unicode')
