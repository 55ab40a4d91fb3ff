"""`cnoid_control init`: what it writes works as written."""

import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from cnoid_control.body import load_body
from cnoid_control.catalog.models import cached_model
from cnoid_control.cli.main import main
from cnoid_control.cli.starter import module_name
from cnoid_control.runtime.config import load_config
from cnoid_control.runtime.defaults import make_robot

MJCF = """<mujoco model="stick">
  <worldbody>
    <body name="base" pos="0 0 0.5">
      <joint name="swing" axis="0 1 0" range="-100 100" actuatorfrcrange="-20 20"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0 0 0.3" size="0.02" mass="1"/>
      <site name="imu"/>
    </body>
  </worldbody>
  <sensor><gyro name="turn" site="imu"/></sensor>
  <keyframe><key name="home" qpos="0.4"/></keyframe>
</mujoco>
"""

XACRO = """<robot name="lever" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="mass" default="1"/>
  <link name="world"/><link name="foot"/>
  <link name="bar">
    <inertial>
      <mass value="$(arg mass)"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>
    </inertial>
  </link>
  <joint name="mount" type="fixed"><parent link="world"/><child link="foot"/></joint>
  <joint name="hinge" type="revolute">
    <parent link="foot"/><child link="bar"/><axis xyz="0 1 0"/>
    <limit lower="0.5" upper="2" effort="50" velocity="3"/>
  </joint>
  <ros2_control name="lever" type="system">
    <hardware><plugin>lever_driver/Lever</plugin></hardware>
    <joint name="hinge">
      <command_interface name="effort"/><state_interface name="position"/>
    </joint>
  </ros2_control>
</robot>
"""


def written(folder: Path) -> set[str]:
    """Return the files of a folder."""
    return {path.name for path in folder.iterdir() if path.is_file()}


def run_tests(folder: Path) -> None:
    """Run the tests of a folder as its user would."""
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', str(folder)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout


@pytest.fixture
def here(tmp_path: Path, monkeypatch) -> Path:
    """Return the working folder, an empty one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_urdf_robot(here: Path, capsys):
    """All files, a run, and their own tests; the posture and the gains are by name."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    assert main(['init', 'sr1.urdf', 'My-SR1']) == 0
    folder = here / 'My-SR1'
    name = 'my_sr1'
    assert written(folder) == {
        f'{name}.yaml',
        f'{name}.py',
        f'test_{name}.py',
        f'{name}.urdf',
        f'{name}.launch.py',
        'controllers.yaml',
    }
    assert 'ros2 launch My-SR1/my_sr1.launch.py' in capsys.readouterr().out
    config = load_config(folder / f'{name}.yaml')
    body = load_body(folder / f'{name}.urdf')
    posture = config.parameters.robot.posture
    assert list(posture) == body.joint_names
    assert set(config.options['my_sr1']['kp']) == set(body.joint_names)
    manager = yaml.safe_load((folder / 'controllers.yaml').read_text())['/**/controller_manager']
    assert {'imu_sensor_broadcaster', 'LeftAnkleForceSensor_broadcaster', 'effort_controller'} <= {
        *manager['ros__parameters']
    }
    assert main(['run', str(folder / f'{name}.yaml'), '--duration', '0.1']) == 0


@pytest.mark.parametrize('model', ['arm.urdf', 'stick.xml'])
def test_gains_are_offered_by_option(here: Path, capsys, model: str):
    """Interfaces and controllers for stiffness and damping are there where they are wanted."""
    if model.endswith('.xml'):
        pytest.importorskip('mujoco', reason='needs MuJoCo')
        (here / model).write_text(MJCF)
    for words, folder, offered in (([], 'plain', False), (['--gains'], 'mit', True)):
        assert main(['init', model, folder, *words]) == 0
        manager = yaml.safe_load((here / folder / 'controllers.yaml').read_text())
        names = set(manager['/**/controller_manager']['ros__parameters'])
        assert ({'stiffness_controller', 'damping_controller'} <= names) == offered
        assert 'position_controller' in names
        text = (here / folder / f'{folder}.urdf').read_text()
        assert ('<command_interface name="stiffness"' in text) == offered
        load_body(here / folder / f'{folder}.urdf')
    assert main(['init', 'trotter_walk', '--robot', 'trotter', '--gains']) == 1
    assert '--gains is for a robot' in capsys.readouterr().err


def test_files_are_clean(here: Path):
    """They pass the package's own linter, with a fixed base and with a floating one."""
    for model in ('arm.urdf', 'sr1.urdf'):
        assert main(['init', model]) == 0
    words = [sys.executable, '-m', 'ruff', 'check', '--select', 'E,F,W,D,Q', '--config']
    options = ['line-length = 99', "lint.flake8-quotes.inline-quotes = 'single'"]
    options += ["lint.pydocstyle.convention = 'google'"]
    words += [part for option in options for part in ('--config', option)][1:]
    result = subprocess.run([*words, '.'], capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr


def test_an_mjcf_robot(here: Path):
    """Physics runs the file as it is; the URDF beside is for ros2_control."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    (here / 'stick.xml').write_text(MJCF)
    assert main(['init', 'stick.xml']) == 0
    folder = here / 'stick'
    config = load_config(folder / 'stick.yaml')
    robot = config.parameters.robot
    assert Path(robot.model).resolve() == (here / 'stick.xml').resolve()
    assert robot.base == 'fixed'
    assert robot.posture == {'swing': 0.4}
    tags = ElementTree.fromstring((folder / 'stick.urdf').read_text()).find('ros2_control')
    assert [joint.get('name') for joint in tags.findall('joint')] == ['swing']
    assert [sensor.get('name') for sensor in tags.findall('sensor')] == ['turn']
    assert make_robot(robot, config.folder).q == pytest.approx([0.4])
    run_tests(folder)


def test_a_xacro_robot_with_its_own_tags(here: Path):
    """Arguments are used, its ros2_control tags are kept, and only their interfaces commanded."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    (here / 'lever.urdf.xacro').write_text(XACRO)
    assert main(['init', 'lever.urdf.xacro', '--argument', 'mass=2.5', '--rate', '500']) == 0
    folder = here / 'lever'
    assert load_body(folder / 'lever.urdf').mass == pytest.approx(2.5)
    assert 'lever_driver/Lever' in (folder / 'lever.urdf').read_text()
    content = yaml.safe_load((folder / 'controllers.yaml').read_text())
    manager = content['/**/controller_manager']['ros__parameters']
    assert set(manager) == {'update_rate', 'joint_state_broadcaster', 'effort_controller'}
    assert manager['update_rate'] == 500
    config = load_config(folder / 'lever.yaml')
    assert (config.parameters.rate, config.parameters.robot.posture) == (500.0, {'hinge': 0.5})
    run_tests(folder)


def test_what_the_model_does_not_say_is_asked_for(here: Path, capsys):
    """By name, in the first lines of the configuration, and said."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    (here / 'stick.xml').write_text(MJCF.replace(' actuatorfrcrange="-20 20"', ''))
    assert main(['init', 'stick.xml']) == 0
    head = (here / 'stick/stick.yaml').read_text().partition('/**:')[0]
    assert 'no effort limit' in head
    assert 'no velocity limit' in head
    assert head.count('swing') == 2
    assert 'plug-in of the real robot' in head
    assert 'the posture' not in head
    assert 'please check' in capsys.readouterr().out


def test_names_with_dots_and_robots_without_joints(here: Path):
    """A dot is nesting to ROS, and an empty map is nothing; both robots run."""
    pytest.importorskip('mujoco', reason='needs MuJoCo')
    (here / 'dots.urdf.xacro').write_text(XACRO.replace('hinge', 'hinge.0'))
    (here / 'stone.urdf').write_text(
        '<robot name="stone"><link name="stone"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><geometry><sphere radius="0.1"/></geometry></collision></link></robot>'
    )
    for name in ('dots.urdf.xacro', 'stone.urdf'):
        assert main(['init', name]) == 0
    config = load_config(here / 'dots/dots.yaml')
    assert config.parameters.robot.posture == {'hinge.0': 0.5}
    run_tests(here / 'dots')
    assert main(['run', 'stone/stone.yaml', '--duration', '0.1']) == 0


def test_nothing_is_overwritten(here: Path, capsys):
    """One file that is there already, and nothing is written."""
    folder = here / 'pendulum'
    folder.mkdir()
    (folder / 'pendulum.py').write_text('mine')
    assert main(['init', 'pendulum.urdf']) == 1
    assert 'pendulum.py: nothing was written' in capsys.readouterr().err
    assert written(folder) == {'pendulum.py'}
    assert (folder / 'pendulum.py').read_text() == 'mine'


def test_bad_input_is_refused(here: Path, capsys):
    """A model that is none, an argument without a value, a rate that is none."""
    for words, said in (
        (['nothing.urdf'], "no model 'nothing.urdf'"),
        (['pendulum', '--argument', 'mass'], 'not NAME=VALUE'),
        (['pendulum', '--argument', 'mass=1'], 'takes no arguments'),
        (['pendulum', '--rate', '0'], '--rate 0'),
    ):
        assert main(['init', *words]) == 1
        assert said in capsys.readouterr().err
    assert not list(here.iterdir())


def test_names_of_folders_become_names_of_modules():
    """Whatever the folder is called."""
    assert module_name('My-Robot 2') == 'my_robot_2'
    assert module_name('2nd.arm') == 'robot_2nd_arm'
    assert module_name('class') == 'robot_class'


@pytest.mark.parametrize('name', ['ur5', 'go1'])
def test_robots_that_nobody_here_wrote(here: Path, name: str):
    """An arm as URDF and a quadruped as MJCF: nothing is edited."""
    if cached_model(name) is None:
        pytest.skip(f'{name} is not in the cache: cnoid_control get {name}')
    assert main(['init', name]) == 0
    run_tests(here / name)
