import subprocess
import sys

import pytest
import setup_env


@pytest.fixture
def venv(tmp_path, monkeypatch):
    """Redirect the set-up to an environment in a scratch folder."""
    folder = tmp_path / '.venv'
    folder.mkdir()
    monkeypatch.setattr(setup_env, 'VENV', folder)
    monkeypatch.setattr(setup_env, 'PYTHON', folder / 'bin' / 'python')
    monkeypatch.setattr(setup_env, 'STAMP', folder / 'setup.stamp')
    monkeypatch.setattr(setup_env, 'LOG', folder / 'setup.log')
    monkeypatch.setattr(setup_env, 'PIP_CACHE', folder / 'pip_cache')
    return folder


def test_a_broken_environment_is_made_anew_and_downloads_are_kept(venv):
    """What an interruption left behind gives way; the cache of downloads stays for resuming."""
    (venv / 'bin').mkdir()
    (venv / 'bin' / 'python').symlink_to('/nowhere/python3')
    (venv / 'pip_cache').mkdir()
    setup_env.create_venv('wheels')
    code = 'import sys, pip; print(sys.prefix)'
    command = [str(venv / 'bin' / 'python'), '-c', code]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert result.stdout.strip() == str(venv)
    assert (venv / 'pip_cache').is_dir()

    config = (venv / 'pyvenv.cfg').stat().st_mtime_ns
    setup_env.create_venv('wheels')
    assert (venv / 'pyvenv.cfg').stat().st_mtime_ns == config, 'a working one is left alone'


def test_half_installed_packages_are_installed_again(venv):
    """A package without its list of files was interrupted: pip must not believe in it."""
    site = venv / 'lib' / 'python3.12' / 'site-packages'
    for name in ('whole-1.0.dist-info', 'half-1.0.dist-info'):
        (site / name).mkdir(parents=True)
    (site / 'whole-1.0.dist-info' / 'RECORD').touch()
    setup_env.forget_half_installed()
    assert [path.name for path in site.iterdir()] == ['whole-1.0.dist-info']


def test_a_failing_step_says_what_failed_and_where_to_read_on(venv):
    """The message holds the step, pip's own error line and the log."""
    code = 'print("Collecting x\\nERROR: no x here\\nbye"); raise SystemExit(1)'
    expected = r'(?s)installing x failed .*setup\.log.*ERROR: no x here$'
    with pytest.raises(setup_env.SetupError, match=expected):
        setup_env.run('installing x', [sys.executable, '-c', code])
    assert 'Collecting x' in (venv / 'setup.log').read_text()


def test_a_failing_step_is_told_in_few_words(venv):
    """Lists of hundreds of versions stay in the log; what is missing is said."""
    versions = ', '.join(f'7.{minor}' for minor in range(400))
    said = (
        f'ERROR: Ignored the following versions that require a different python: {versions}',
        f'ERROR: Could not find a version that satisfies x>=8 (from versions: {versions})',
        'ERROR: No matching distribution found for x>=8',
    )
    code = f'print({chr(10).join(said)!r}); raise SystemExit(1)'
    with pytest.raises(setup_env.SetupError) as failure:
        setup_env.run('installing x', [sys.executable, '-c', code])
    message = str(failure.value)
    assert 'Could not find a version that satisfies x>=8' in message
    assert message.endswith('No matching distribution found for x>=8')
    assert 'Ignored' not in message
    assert len(message) < 600
    assert versions in (venv / 'setup.log').read_text()


def test_without_a_compiler_the_set_up_goes_on_and_says_so(venv, monkeypatch, capsys):
    """The interfaces are optional: missing tools are reported, nothing is raised."""
    python = venv / 'bin' / 'python'
    python.parent.mkdir()
    # An interpreter without any of the packages: -S leaves site-packages out.
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv('PATH', '/nowhere')
    assert setup_env.install_interfaces('wheels') is False
    said = capsys.readouterr().out
    assert 'going on without control_msgs, controller_manager_msgs, tf2_msgs' in said
    assert 'apt install gcc g++ cmake make' in said


def test_an_installed_ros_is_asked_for_its_own_interfaces(venv, capsys):
    """Where ROS is installed nothing is built; what is missing is named as its packages."""
    assert setup_env.install_interfaces('system') is False
    assert 'ros-$ROS_DISTRO-control-msgs' in capsys.readouterr().out


def test_the_stamp_follows_the_sources(tmp_path, monkeypatch):
    """A changed, added or renamed source gives another hash; caches of Python do not."""
    monkeypatch.setattr(setup_env, 'ROOT', tmp_path)
    (tmp_path / 'a').write_text('1')
    (tmp_path / '__pycache__').mkdir()
    seen = {setup_env.hash_of(setup_env.files_in('.'), 'wheels')}
    (tmp_path / '__pycache__' / 'x.pyc').touch()
    assert setup_env.hash_of(setup_env.files_in('.'), 'wheels') in seen
    seen.add(setup_env.hash_of(setup_env.files_in('.'), 'system'))
    (tmp_path / 'a').write_text('2')
    seen.add(setup_env.hash_of(setup_env.files_in('.'), 'wheels'))
    (tmp_path / 'a').rename(tmp_path / 'b')
    seen.add(setup_env.hash_of(setup_env.files_in('.'), 'wheels'))
    assert len(seen) == 4


def test_ros_on_an_unknown_machine_is_left_out(monkeypatch, capsys):
    """Where there are no wheels for the machine the set-up goes on without ROS and says so."""
    monkeypatch.setattr(setup_env, 'base_python', lambda: '/nowhere/python3')
    monkeypatch.setattr(setup_env.platform, 'machine', lambda: 'riscv64')
    assert setup_env.choose_ros() == 'none'
    assert 'riscv64' in capsys.readouterr().out
