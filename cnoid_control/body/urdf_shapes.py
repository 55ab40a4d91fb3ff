"""Reads the shapes of links from URDF."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from cnoid_control.body.exceptions import InvalidValue, MeshNotFound, UnknownGeometry
from cnoid_control.body.resources import resolve_uri
from cnoid_control.body.shape import Box, Capsule, Cylinder, Geometry, Mesh, Shape, Sphere
from cnoid_control.body.xml_reader import Element, XmlReader, label

Color = tuple[float, float, float, float]

GEOMETRIES = ('box', 'sphere', 'cylinder', 'capsule', 'mesh')


def read_colors(reader: XmlReader) -> dict[str, Color]:
    """Colors of the named materials, wherever in the file they are defined."""
    colors = {}
    for material in reader.root.iter('material'):
        color = material.find('color')
        if color is not None and color.get('rgba') is not None:
            red, green, blue, alpha = reader.vector(color, 'rgba', (), size=4).tolist()
            colors[material.get('name', '')] = (red, green, blue, alpha)
    return colors


def read_shapes(
    reader: XmlReader, link: Element, colors: dict[str, Color], folder: Path | None
) -> list[Shape]:
    """Shapes of a `<link>`; one that is seen and collides alike is one shape.

    Raises:
        ModelError: the subclass that names what is wrong.
    """
    visuals = [_read_shape(reader, link, element, folder) for element in link.findall('visual')]
    for shape, element in zip(visuals, link.findall('visual'), strict=True):
        shape.collision = False
        material = element.find('material')
        if material is not None:
            own = material.find('color')
            if own is not None:
                red, green, blue, alpha = reader.vector(own, 'rgba', (), size=4).tolist()
                shape.color = (red, green, blue, alpha)
            else:
                shape.color = colors.get(material.get('name', ''), shape.color)
    only_collide = []
    for element in link.findall('collision'):
        shape = _read_shape(reader, link, element, folder)
        twin = next((seen for seen in visuals if not seen.collision and _same(seen, shape)), None)
        if twin is not None:
            twin.collision = True
        else:
            shape.visual = False
            only_collide.append(shape)
    return visuals + only_collide


def _same(one: Shape, other: Shape) -> bool:
    return (
        one.geometry == other.geometry
        and np.array_equal(one.translation, other.translation)
        and np.array_equal(one.rotation, other.rotation)
    )


def _read_shape(reader: XmlReader, link: Element, element: Element, folder: Path | None) -> Shape:
    translation, rotation = reader.origin(element)
    geometry = _read_geometry(reader, link, element, folder)
    return Shape(geometry, translation, rotation, name=element.get('name', ''))


def _read_geometry(
    reader: XmlReader, link: Element, element: Element, folder: Path | None
) -> Geometry:
    name = link.get('name', '')
    solids = element.findall('geometry/*')
    if not solids or solids[0].tag not in GEOMETRIES:
        kind = solids[0].tag if solids else None
        raise UnknownGeometry(name, kind, GEOMETRIES, reader.source)
    solid = solids[0]
    if solid.tag == 'mesh':
        x, y, z = reader.vector(solid, 'scale', (1.0, 1.0, 1.0)).tolist()
        uri = reader.text(solid, 'filename', element)
        path = resolve_uri(uri, folder, reader.source)
        if not path.is_file():
            raise MeshNotFound(name, uri, str(path), reader.source)
        return Mesh(path=str(path), scale=(x, y, z), uri=uri)
    if solid.tag == 'box':
        x, y, z = (_positive(reader, solid, 'size', value) for value in _size(reader, solid))
        return Box((x, y, z))
    radius = _positive(reader, solid, 'radius', reader.number(solid, 'radius'))
    if solid.tag == 'sphere':
        return Sphere(radius)
    length = _positive(reader, solid, 'length', reader.number(solid, 'length'))
    return Cylinder(radius, length) if solid.tag == 'cylinder' else Capsule(radius, length)


def _size(reader: XmlReader, box: Element) -> list[float]:
    return reader.vector(box, 'size', (0.0, 0.0, 0.0)).tolist()


def _positive(reader: XmlReader, solid: Element, key: str, value: float) -> float:
    if not value > 0.0:
        raise InvalidValue(label(solid), key, value, 'a length above 0', reader.source)
    return value
