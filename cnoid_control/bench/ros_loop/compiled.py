"""The benchmark's own C programs, compiled where they are needed."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

from cnoid_control.exceptions import CnoidControlError

SOURCES = Path(__file__).parent
COMPILER = 'cc'
MESSAGES = ('geometry_msgs', 'sensor_msgs', 'std_msgs')
LIBRARIES = (
    'rcl',
    'rcutils',
    'rmw',
    'rosidl_runtime_c',
    *(f'{package}__rosidl_typesupport_c' for package in MESSAGES),
    *(f'{package}__rosidl_generator_c' for package in MESSAGES),
    'm',
    'pthread',
)


def ros_prefixes() -> list[Path]:
    """Where headers and libraries of ROS are: the installed one's folders, else the wheels'."""
    given = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    folders = [Path(one) for one in (*given, sys.prefix) if one]
    return [one for one in folders if (one / 'include' / 'rcl').is_dir()]


def why_not() -> str:
    """What is missing to compile a node; empty for nothing."""
    if shutil.which(COMPILER) is None:
        return f'no C compiler ({COMPILER})'
    return '' if ros_prefixes() else 'no headers of rcl'


def compile_node(name: str, folder: Path) -> Path:
    """Compile NAME.c to a library with a `main`; returns its file.

    The wheels' rcl has symbols of Python undefined, so that it is loaded into a Python process,
    which does nothing else: see `run_compiled`.

    Raises:
        CnoidControlError: it does not compile; the message has what the compiler says.
    """
    if reason := why_not():
        raise CnoidControlError(reason)
    target = folder / f'{name}.so'
    command = [COMPILER, '-O2', '-Wall', '-shared', '-fPIC', str(SOURCES / f'{name}.c')]
    command += ['-o', str(target)]
    for prefix in ros_prefixes():
        command += [f'-I{one}' for one in sorted((prefix / 'include').iterdir())]
        command += [f'-L{prefix / "lib"}']
    command += [f'-l{library}' for library in LIBRARIES]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CnoidControlError(f'{name}.c does not compile: {done.stderr}')
    return target


def run_compiled(library: str, *words: str) -> int:
    """Call the `main` of a library with these words; the interpreter is free meanwhile."""
    arguments = [word.encode() for word in (library, *words)]
    array = (ctypes.c_char_p * (len(arguments) + 1))(*arguments)
    return int(ctypes.CDLL(library).main(len(arguments), array))


if __name__ == '__main__':
    sys.exit(run_compiled(*sys.argv[1:]))
