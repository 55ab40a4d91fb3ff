from pathlib import Path

import pytest

from cnoid_control.body.exceptions import ModelError, PathOutsidePackage
from cnoid_control.body.formats.resources import package_folder, resolve_uri


def make_package(folder: Path) -> Path:
    """Make a folder with a package.xml and return it."""
    folder.mkdir(parents=True)
    (folder / 'package.xml').touch()
    return folder


def test_own_package_is_the_checkout(root: Path) -> None:
    """In a checkout package://cnoid_control is the checkout's folder."""
    assert resolve_uri('package://cnoid_control/urdf/sr1.urdf') == root / 'urdf' / 'sr1.urdf'


def test_installed_ros_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed ROS packages are found by the prefixes in the environment, the first one first."""
    make_package(tmp_path / 'two' / 'share' / 'arm')
    first = make_package(tmp_path / 'one' / 'share' / 'arm')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'{tmp_path}/one:{tmp_path}/two')
    assert resolve_uri('package://arm/a.stl') == first / 'a.stl'


def test_package_around_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an installation the package is looked for around the model file."""
    monkeypatch.delenv('AMENT_PREFIX_PATH', raising=False)
    package = make_package(tmp_path / 'src' / 'arm_description')
    (package / 'urdf').mkdir()
    sibling = make_package(tmp_path / 'src' / 'hand_description')
    inside = package / 'urdf'
    assert resolve_uri('package://arm_description/m.stl', inside) == package / 'm.stl'
    assert resolve_uri('package://hand_description/m.stl', inside) == sibling / 'm.stl'
    assert package_folder(inside / 'arm.urdf') == package


def test_paths_and_file_addresses(tmp_path: Path) -> None:
    """Relative paths count from the model, absolute ones and file:// stand for themselves."""
    assert resolve_uri('meshes/a.stl', tmp_path) == tmp_path / 'meshes' / 'a.stl'
    assert resolve_uri('/a/b.stl', tmp_path) == Path('/a/b.stl')
    assert resolve_uri('file:///a/b.stl', tmp_path) == Path('/a/b.stl')


def test_bad_addresses(tmp_path: Path) -> None:
    """Unknown packages, and paths that lead out of theirs, are refused."""
    for uri in ('package://no_such_package/a.stl', 'package:///etc/passwd', 'package://../a.stl'):
        with pytest.raises(ModelError, match='searched'):
            resolve_uri(uri, tmp_path)
    for rest in ('../a.stl', 'urdf/../../a.stl', '/etc/passwd'):
        with pytest.raises(PathOutsidePackage, match='leads out'):
            resolve_uri(f'package://cnoid_control/{rest}', tmp_path)
