"""Build the message packages of interfaces/ into a Python environment that is a ROS prefix.

Run by setup_env.py for the packages that cannot be imported; alone, it builds all of them:

    python tools/build_interfaces.py [ENVIRONMENT]     (.venv of this checkout unless told)
"""

import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = sorted(path.parent.name for path in ROOT.glob('interfaces/*/package.xml'))
BUILD_MACHINE_PYTHON = re.compile(r'/opt/python/[^;"]*?/include/python[0-9.]+(?=[;"])')
BUILD_MACHINE_NUMPY = re.compile(r'/opt/python/[^;"]*?/numpy/_?core/include(?=[;"])')


class BuildError(Exception):
    """The interfaces cannot be built here; the message says what is missing or went wrong."""


def environment() -> dict[str, str]:
    """Return the variables for a child: those of another wheel environment are left out."""
    child = dict(os.environ)
    if child.pop('_ROS_WHEELS_BOOTSTRAP_COMPLETE', None):
        child.pop('LD_LIBRARY_PATH', None)
    return child


def ask(python: Path, code: str) -> str:
    """Return what the given interpreter prints for a piece of code."""
    return subprocess.run(
        [str(python), '-c', code], env=environment(), check=True, capture_output=True, text=True
    ).stdout.strip()


def check_tools(python: Path) -> None:
    """Raise BuildError unless the compiler, cmake, make and Python's headers are there."""
    wanted = {
        'a C compiler': ('gcc', ['cc', 'gcc']),
        'a C++ compiler': ('g++', ['c++', 'g++']),
        'cmake': ('cmake', ['cmake']),
        'make': ('make', ['make']),
    }
    missing = {
        name: package
        for name, (package, commands) in wanted.items()
        if not any(shutil.which(command) for command in commands)
    }
    headers = ask(python, "import sysconfig; print(sysconfig.get_path('include'))")
    if not (Path(headers) / 'Python.h').exists():
        version = ask(python, "import sys; print('%d.%d' % sys.version_info[:2])")
        missing['Python.h'] = f'python{version}-dev'
    if missing:
        raise BuildError(
            f'missing: {", ".join(missing)}; on Debian or Ubuntu: '
            f'sudo apt install {" ".join(missing.values())}'
        )


def correct_include_folders(prefix: Path) -> None:
    """Point the wheels' CMake exports to this environment's Python and numpy headers.

    The exports name the folders of the machine the wheels were built on, and CMake refuses an
    imported target with an include folder that does not exist.
    """
    python = prefix / 'bin' / 'python'
    headers = ask(python, "import sysconfig; print(sysconfig.get_path('include'))")
    numpy_headers = ask(python, 'import numpy; print(numpy.get_include())')
    for path in prefix.glob('share/*/cmake/*rosidl_generator_pyExport.cmake'):
        text = path.read_text()
        corrected = BUILD_MACHINE_PYTHON.sub(headers, text)
        corrected = BUILD_MACHINE_NUMPY.sub(numpy_headers, corrected)
        if corrected != text:
            replacement = path.with_suffix('.new')
            replacement.write_text(corrected)
            replacement.replace(path)


def build_package(name: str, prefix: Path) -> None:
    """Configure, compile and install one package; its output goes to a log in the build folder.

    Raises:
        BuildError: A step failed; the message ends with the log's last lines.
    """
    source = ROOT / 'interfaces' / name
    folder = prefix / 'build' / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    python = prefix / 'bin' / 'python'
    steps = [
        [
            *('cmake', '-S', str(source), '-B', str(folder), '-G', 'Unix Makefiles'),
            *('-DCMAKE_BUILD_TYPE=Release', '-DBUILD_TESTING=OFF'),
            *(f'-DCMAKE_PREFIX_PATH={prefix}', f'-DCMAKE_INSTALL_PREFIX={prefix}'),
            *(f'-DPython3_EXECUTABLE={python}', f'-DPYTHON_EXECUTABLE={python}'),
        ],
        ['cmake', '--build', str(folder), '--parallel', str(os.cpu_count() or 1)],
        ['cmake', '--install', str(folder)],
    ]
    log = folder / 'build.log'
    with log.open('w') as output:
        for step in steps:
            result = subprocess.run(
                step, env=environment(), stdout=output, stderr=subprocess.STDOUT, check=False
            )
            if result.returncode != 0:
                output.flush()
                tail = '\n'.join(log.read_text(errors='replace').splitlines()[-15:])
                raise BuildError(f'{name}: `{" ".join(step[:2])} ...` failed, see {log}\n{tail}')
    ask(python, f'import {name}')


def build(prefix: Path, packages: list[str]) -> None:
    """Build the named packages of interfaces/ into the environment `prefix`, side by side.

    Raises:
        BuildError: A tool is missing or a package does not build.
    """
    check_tools(prefix / 'bin' / 'python')
    correct_include_folders(prefix)
    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(build_package, name, prefix) for name in packages]:
            done.result()


if __name__ == '__main__':
    try:
        build(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / '.venv').resolve(), PACKAGES)
    except BuildError as error:
        sys.exit(f'interfaces: {error}')
