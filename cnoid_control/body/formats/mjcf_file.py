"""MJCF files as MuJoCo's own specs: what is missing is left out, what has no name gets one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cnoid_control.body.exceptions import ModelError
from cnoid_control.exceptions import listed

if TYPE_CHECKING:
    import mujoco


def read_spec(path: str | Path, warnings: list[str] | None = None) -> mujoco.MjSpec:
    """Spec of an MJCF file, in which every body, joint, actuator, sensor and camera has a name.

    Shapes whose mesh file is missing and materials' missing textures are left out.

    Args:
        path: the file.
        warnings: takes a sentence about everything that is left out.

    Raises:
        ModelError: the file is missing, or MuJoCo cannot read it.
    """
    path = Path(path)
    try:
        import mujoco
    except ImportError as error:
        raise ModelError(
            'MJCF is read by MuJoCo: pip install cnoid_control[sim]', str(path)
        ) from error
    if not path.is_file():
        raise ModelError('cannot be read: there is no such file', str(path))
    try:
        spec = mujoco.MjSpec.from_file(str(path.absolute()))
    except (ValueError, RuntimeError) as error:
        raise ModelError(one_line(error), str(path)) from error
    told = [] if warnings is None else warnings
    _drop_missing_meshes(spec, told)
    _drop_missing_textures(spec, told)
    name_elements(spec)
    return spec


def compile_file(spec: mujoco.MjSpec, path: str | Path) -> mujoco.MjModel:
    """Model that MuJoCo makes of a spec.

    Raises:
        ModelError: MuJoCo refuses it.
    """
    try:
        return spec.compile()
    except (ValueError, RuntimeError) as error:
        raise ModelError(one_line(error), str(path)) from error


def one_line(error: Exception) -> str:
    """MuJoCo's message in one line."""
    return ' '.join(str(error).split())


def name_elements(spec: mujoco.MjSpec) -> None:
    """Give a name to all bodies, joints, actuators, sensors and cameras that have none."""
    bodies = [body for body in spec.bodies if body is not spec.worldbody]
    _name(bodies, lambda body: f'{_parent_name(body)}_body')
    _name(spec.joints, lambda joint: f'{joint.parent.name}_joint')
    _name(spec.cameras, lambda camera: f'{camera.parent.name}_camera')
    _name(spec.actuators, lambda actuator: f'{actuator.target}_actuator')
    _name(spec.sensors, lambda sensor: f'{sensor.objname}_{sensor_word(sensor.type)}')


def sensor_word(kind: Any) -> str:
    """MJCF's word for a kind of sensor, such as `gyro`."""
    return str(kind.name).removeprefix('mjSENS_').lower()


def _parent_name(body: Any) -> str:
    parent = body.parent
    return parent.name if parent is not None and parent.name else 'world'


def _name(elements: Iterable[Any], base: Any) -> None:
    elements = list(elements)
    taken = {element.name for element in elements}
    for element in elements:
        if element.name:
            continue
        wanted = name = base(element).lstrip('_')
        number = 2
        while name in taken:
            name = f'{wanted}{number}'
            number += 1
        element.name = name
        taken.add(name)


def mesh_path(spec: mujoco.MjSpec, mesh: Any) -> Path:
    """Where the file of a mesh is."""
    return _asset(spec, mesh.file, _compiler(spec, mesh).meshdir)


def _compiler(spec: mujoco.MjSpec, element: Any) -> Any:
    # What is attached from another file keeps the settings of that file.
    return getattr(element, 'compiler', None) or spec.compiler


def _asset(spec: mujoco.MjSpec, file: str, folder: str) -> Path:
    name = Path(file).name if spec.strippath else file
    return Path(spec.modelfiledir, folder, name)


def _drop_missing_meshes(spec: mujoco.MjSpec, warnings: list[str]) -> None:
    missing = {
        mesh.name or Path(mesh.file).stem: mesh
        for mesh in spec.meshes
        if mesh.file and not mesh_path(spec, mesh).is_file()
    }
    if not missing:
        return
    bodies: dict[str, int] = {}
    lost: dict[str, Path] = {}
    for geom in list(spec.geoms):
        if geom.meshname in missing:
            body, mesh = geom.parent.name, missing[geom.meshname]
            bodies[body] = bodies.get(body, 0) + 1
            lost[geom.meshname] = mesh_path(spec, mesh)
            spec.delete(geom)
    if lost:
        files = listed(repr(path.name) for path in lost.values())
        folders = listed(sorted({str(path.parent) for path in lost.values()}))
        are = f'mesh {files} is' if len(lost) == 1 else f'{len(lost)} meshes are'
        warnings.append(
            f'{are} not there ({folders}{"" if len(lost) == 1 else ": " + files}); '
            f'{sum(bodies.values())} shapes are left out, of bodies {listed(bodies)}'
        )
    for mesh in missing.values():
        spec.delete(mesh)


def _drop_missing_textures(spec: mujoco.MjSpec, warnings: list[str]) -> None:
    for texture in list(spec.textures):
        folder = _compiler(spec, texture).texturedir
        files = [texture.file, *texture.cubefiles]
        lost = [file for file in files if file and not _asset(spec, file, folder).is_file()]
        if not lost:
            continue
        warnings.append(f'texture {lost[0]!r} is not there; it is left out')
        for material in spec.materials:
            for role, name in enumerate(material.textures):
                if name == texture.name:
                    material.textures[role] = ''
        spec.delete(texture)


def drop_dangling_pairs(spec: mujoco.MjSpec, warnings: list[str]) -> None:
    """Leave out contact pairs with a geom that the file does not have, such as another's floor."""
    names = {geom.name for geom in spec.geoms}
    missing: dict[str, int] = {}
    for pair in list(spec.pairs):
        lost = [name for name in (pair.geomname1, pair.geomname2) if name not in names]
        if lost:
            missing[lost[0]] = missing.get(lost[0], 0) + 1
            spec.delete(pair)
    for name, count in missing.items():
        own = ", such as the simulation's own floor" if name == 'floor' else ''
        warnings.append(
            f'{count} contact pairs with geom {name!r}, which the file does not have: they count '
            f'in a world that has it{own}'
        )
