"""Make `.venv` in the checkout: the package with all it needs, ROS 2 and its interfaces.

`make setup` runs this. A second run finds the stamp of the first and does nothing; after an
interruption, or when a requirement changed, only what is missing is done. Where ROS 2 is
installed (rclpy can be imported from the system's Python) that is used and no wheel installed.
"""

import fcntl
import hashlib
import platform
import shutil
import subprocess
import sys
import time
from pathlib import Path

from build_interfaces import PACKAGES, ROOT, BuildError, ask, build, environment

VENV = ROOT / '.venv'
PYTHON = VENV / 'bin' / 'python'
STAMP = VENV / 'setup.stamp'
LOG = VENV / 'setup.log'
PIP_CACHE = VENV / 'pip_cache'


class SetupError(Exception):
    """Set-up cannot go on; the message says why and what to do."""


def say(text: str) -> None:
    """Print one line about the progress."""
    print(f'setup: {text}', flush=True)


def cut(line: str, length: int = 200) -> str:
    """Leave out the middle of a line that is long."""
    half = length // 2
    return line if len(line) <= length else f'{line[:half]} ... {line[-half:]}'


def succeeds(python: str, code: str) -> bool:
    """Tell whether an interpreter runs a piece of code without error."""
    if not shutil.which(python):
        return False
    command = [python, '-c', code]
    return subprocess.run(command, env=environment(), capture_output=True).returncode == 0


def base_python() -> str:
    """Return the interpreter to build on: outside any virtual environment that is active."""
    return getattr(sys, '_base_executable', None) or sys.executable


def choose_ros() -> str:
    """Return where ROS 2 comes from here: 'system', 'wheels' or 'none'."""
    if succeeds(base_python(), 'import rclpy'):
        return 'system'
    if platform.system() == 'Linux' and platform.machine() == 'x86_64':
        return 'wheels'
    say(f'no ROS 2 wheels for {platform.system()} {platform.machine()}: going on without ROS')
    return 'none'


def hash_of(files: list[Path], facts: str) -> str:
    """Return a hash of files, by name and content, and of other facts."""
    digest = hashlib.sha256(f'{ROOT} {facts}'.encode())
    for path in files:
        if path.is_file() and '__pycache__' not in path.parts:
            digest.update(str(path.relative_to(ROOT)).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def files_in(*folders: str) -> list[Path]:
    """Return everything below folders of the checkout, sorted."""
    return sorted(path for folder in folders for path in (ROOT / folder).rglob('*'))


def run(label: str, command: list[str]) -> None:
    """Run a step with its output in the log, and its last line shown on a terminal.

    Raises:
        SetupError: The command failed; the message has what it said last.
    """
    say(label)
    variables = environment()
    variables.update(PIP_CACHE_DIR=str(PIP_CACHE), PIP_DISABLE_PIP_VERSION_CHECK='1')
    variables.update(PIP_NO_INPUT='1', PIP_REQUIRE_VIRTUALENV='0')
    variables.pop('PIP_USER', None)
    begin, lines = time.monotonic(), ['']
    with LOG.open('a') as log:
        process = subprocess.Popen(
            command, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert process.stdout is not None
        for line in process.stdout:
            log.write(line)
            lines.append(line.strip())
            if sys.stdout.isatty():
                seconds = f'{time.monotonic() - begin:4.0f} s'
                print(f'\r\x1b[K  {seconds}  {lines[-1][:60]}', end='', flush=True)
    if sys.stdout.isatty():
        print('\r\x1b[K', end='', flush=True)
    if process.wait() != 0:
        said = [line for line in lines if line.startswith('ERROR')] or lines
        # pip lists every version of everything that another Python would need.
        last = [cut(line) for line in said if 'Ignored the following versions' not in line][-3:]
        raise SetupError(f'{label} failed (all of it in {LOG}):\n  ' + '\n  '.join(last))


def create_venv(ros: str) -> None:
    """Create the virtual environment, or make anew one that is broken or of another kind.

    Raises:
        SetupError: Python's venv or pip is missing.
    """
    shared = ros == 'system'
    config = VENV / 'pyvenv.cfg'
    settings = config.read_text().lower() if config.exists() else ''
    here = f'import sys; assert sys.prefix == {str(VENV)!r}; import pip'
    fits = ('include-system-site-packages = true' in settings) == shared
    if fits and succeeds(str(PYTHON), here):
        return
    for path in VENV.iterdir():
        if path.name not in ('lock', PIP_CACHE.name):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    options = ['--system-site-packages'] if shared else []
    version = platform.python_version()
    if not succeeds(base_python(), 'import venv, ensurepip'):
        major_minor = '.'.join(version.split('.')[:2])
        raise SetupError(
            f'{base_python()} (Python {version}) has no venv; on Debian or Ubuntu: '
            f'sudo apt install python{major_minor}-venv, or choose another one: '
            'make PYTHON=/path/to/python3'
        )
    label = f'creating .venv with Python {version}'
    run(label, [base_python(), '-m', 'venv', *options, str(VENV)])


def forget_half_installed() -> None:
    """Remove the records of packages whose installation was interrupted, so that pip redoes it."""
    for record in VENV.glob('lib/python3*/site-packages/*.dist-info'):
        if not (record / 'RECORD').exists():
            shutil.rmtree(record)


def install_package(ros: str) -> None:
    """Install this checkout, editable, with its requirements."""
    pip = [str(PYTHON), '-m', 'pip', 'install']
    # An older pip may try versions for hours; setuptools 80 has dropped what colcon needs.
    check = (
        'from importlib.metadata import version\n'
        'pip, setuptools = (int(version(n).split(".")[0]) for n in ("pip", "setuptools"))\n'
        'assert pip >= 24 and 71 <= setuptools < 80'
    )
    if not succeeds(str(PYTHON), check):
        run('installing pip', [*pip, '--upgrade', 'pip>=24', 'setuptools>=71,<80'])
    extras = 'sim,policy,ros,dev' if ros == 'wheels' else 'sim,policy,dev'
    label = 'installing the package and all it needs (a few minutes the first time)'
    run(label, [*pip, '--no-build-isolation', '--editable', f'{ROOT}[{extras}]'])
    try:
        # It is compiled, and only gamepads need it.
        run('installing evdev for gamepads', [*pip, 'evdev>=1.6'])
    except SetupError as error:
        say(f'going on without gamepads ({error})')
    shutil.rmtree(PIP_CACHE, ignore_errors=True)


def install_interfaces(ros: str) -> bool:
    """Build the message packages that are missing or out of date; tell whether all are there."""
    missing = [name for name in PACKAGES if not succeeds(str(PYTHON), f'import {name}.msg')]
    if ros == 'system':
        if missing:
            names = ' '.join(f'ros-$ROS_DISTRO-{name.replace("_", "-")}' for name in missing)
            say(f'ROS lacks {", ".join(missing)}: sudo apt install {names}')
        return not missing
    marks = {name: VENV / 'build' / f'{name}.stamp' for name in PACKAGES}
    hashes = {name: hash_of(files_in(f'interfaces/{name}'), ros) for name in PACKAGES}
    stale = [
        name
        for name, mark in marks.items()
        if name in missing or not mark.exists() or mark.read_text() != hashes[name]
    ]
    if not stale:
        return True
    say(f'building {", ".join(stale)} (half a minute)')
    try:
        build(VENV, stale)
    except BuildError as error:
        say(f'going on without {", ".join(stale)} ({error})')
        say('the trajectory action and mode switching through controller_manager will say so')
        return False
    for name in stale:
        marks[name].write_text(hashes[name])
    return True


def set_up() -> None:
    """Bring .venv up to date.

    Raises:
        SetupError: Something needed is missing or failed.
    """
    VENV.mkdir(exist_ok=True)
    with (VENV / 'lock').open('w') as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        ros = choose_ros()
        sources = [ROOT / 'setup.py', ROOT / 'pyproject.toml', *files_in('interfaces', 'tools')]
        wanted = hash_of(sources, ros)
        if STAMP.exists() and STAMP.read_text() == wanted and succeeds(str(PYTHON), ''):
            return
        STAMP.unlink(missing_ok=True)
        create_venv(ros)
        forget_half_installed()
        install_package(ros)
        complete = ros == 'none' or install_interfaces(ros)
        if complete:
            STAMP.write_text(wanted)
        version = ask(PYTHON, 'import platform; print(platform.python_version())')
        say(f'.venv is ready: Python {version}, ROS 2 from {ros}')


if __name__ == '__main__':
    try:
        set_up()
    except SetupError as error:
        sys.exit(f'setup: {error}')
    except KeyboardInterrupt:
        sys.exit('setup: interrupted; call it again to go on')
