"""robot.scene puts any robot into an MJCF scene."""

from __future__ import annotations

import pytest

from cnoid_control.parameters import FileName, ParameterError
from cnoid_control.runtime.build import make_loop
from cnoid_control.runtime.config import RobotParameters, load_config
from cnoid_control.runtime.defaults import make_robot

SCENE = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <geom name="table" type="box" size="1 1 0.2" pos="0 0 0.2"/>
  </worldbody>
</mujoco>
"""
INERTIA = 'ixx=".01" iyy=".01" izz=".01" ixy="0" ixz="0" iyz="0"'
URDF = f"""
<robot name="box">
  <link name="box"><inertial><mass value="1"/><inertia {INERTIA}/></inertial>
    <collision><geometry><box size="0.2 0.2 0.2"/></geometry></collision></link>
  <link name="lid"><inertial><mass value="0.1"/><inertia {INERTIA}/></inertial></link>
  <joint name="hinge" type="revolute"><parent link="box"/><child link="lid"/>
    <origin xyz="0 0 0.1"/><limit lower="-1" upper="1" effort="10" velocity="10"/></joint>
</robot>
"""
MJCF = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1" pos="0 0 3"/>
    <body name="box"><freejoint/><geom type="box" size="0.1 0.1 0.1" mass="1"/>
      <body name="lid" pos="0 0 0.1"><joint name="hinge"/><geom size="0.02" mass="0.1"/></body>
    </body>
  </worldbody>
</mujoco>
"""
CONFIG = """
/**:
  ros__parameters:
    robot: {{model: {model}, base: floating, scene: worlds/scene.xml, position: [0, 0, 0.55]}}
    controller: pd
    rate: 500.0
"""


@pytest.fixture
def folder(tmp_path):
    """Folder with a scene, a robot in two formats, and their configurations."""
    (tmp_path / 'worlds').mkdir()
    (tmp_path / 'worlds' / 'scene.xml').write_text(SCENE)
    for name, text in (('robot.urdf', URDF), ('robot.xml', MJCF)):
        (tmp_path / name).write_text(text)
        (tmp_path / f'{name}.yaml').write_text(CONFIG.format(model=name))
    return tmp_path


@pytest.mark.parametrize('robot', ['robot.urdf', 'robot.xml'])
def test_robot_stands_in_the_scene(folder, robot):
    """The path starts at the configuration's folder; the table holds the robot."""
    loop = make_loop(load_config(folder / f'{robot}.yaml'))
    loop.run(1.0)
    assert loop.hardware.body.root_link.p[2] == pytest.approx(0.5, abs=5e-3)
    loop.hardware.close()


def test_the_path_of_a_scene_starts_at_the_folder(folder):
    """Also where the section comes from no file."""
    robot = RobotParameters(FileName(folder / 'robot.urdf'), scene='worlds/scene.xml')
    scene = make_robot(robot, folder).description.scene
    assert scene == str(folder / 'worlds' / 'scene.xml')


def test_scene_that_is_missing_is_named(folder):
    """A file that is not there is refused by its key."""
    config = load_config(folder / 'robot.urdf.yaml', {'robot.scene': 'worlds/none.xml'})
    with pytest.raises(ParameterError, match=r'robot\.scene: there is no file .*none\.xml'):
        make_robot(config.parameters.robot, config.folder)


def test_one_of_several_robots_has_no_scene_of_its_own(folder):
    """The scene is that of all robots."""
    part = {'model': 'robot.urdf', 'base': 'fixed', 'scene': 'worlds/scene.xml'}
    config = load_config(
        folder / 'robot.urdf.yaml',
        {'robot': {'model': '', 'base': 'auto', 'position': [], 'models': {'a': part}}},
    )
    with pytest.raises(ParameterError, match=r'robot\.models\.a\.scene'):
        make_robot(config.parameters.robot, config.folder)
