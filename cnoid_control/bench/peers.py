"""Others' programs that rows compare with, in environments of their own.

Nothing is put into the environment that runs: another one finds everything that is installed
here, after its own, so that both sides of a row have the same libraries. Peers that rows need
together share one; others may want libraries in versions that do not go together.
"""

from __future__ import annotations

import hashlib
import json
import site
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from cnoid_control.catalog import cache_folder
from cnoid_control.exceptions import CnoidControlError

# What to install for a module that rows need: its distribution, and where need be what goes with
# it. The extra `bench` of setup.py has those that can be installed beside everything else.
PEERS = {
    'pink': 'pin-pink>=3.0',
    'quadprog': 'quadprog>=0.1.11',
    'klampt': 'klampt>=0.10',
    'placo': 'placo>=0.9',
    # Its wheel does not say with which versions of these libraries it was linked.
    'tsid.tsid_pywrap': 'tsid==1.7.1 pin==3.4.0 cmeel-urdfdom<5 cmeel-tinyxml2<11',
}
# Imports modules; prints why each cannot be, empty for those that can.
IMPORT = """
import importlib, json, sys
reasons = dict.fromkeys(sys.argv[1:], '')
for name in reasons:
    try:
        importlib.import_module(name)
    except Exception as error:
        reasons[name] = f'{type(error).__name__}: {error}'
print(json.dumps(reasons))
"""
# What pip says where it reaches nobody.
OFFLINE = ('connection broken', 'ConnectTimeout', 'NameResolutionError', 'Network is unreachable')
LOOK_THERE = 'cnoid_control_running.pth'


class PeerEnvironment:
    """A virtual environment in the cache, for this interpreter and what it has.

    Attributes:
        modules: the peers.
        folder: where it is.
    """

    def __init__(self, modules: Iterable[str], tell: Callable[[str], None]) -> None:
        """Name it; nothing is made yet.

        Args:
            modules: the peers, modules that rows need.
            tell: told what is being done.
        """
        self.modules = sorted(modules)
        self._tell = tell
        there = _site_folders()
        digest = hashlib.sha1('\n'.join([sys.base_prefix, *there]).encode()).hexdigest()[:12]
        version = f'{sys.version_info.major}.{sys.version_info.minor}'
        name = '-'.join([f'python{version}', *self.modules, digest])
        self.folder = cache_folder() / 'bench' / name
        self._there = there

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / ('Scripts/python.exe' if sys.platform == 'win32' else 'bin/python')

    def make(self) -> None:
        """Make it where it is not there yet.

        Raises:
            CnoidControlError: it cannot be made.
        """
        if not self.python.exists() or not self._own_folder():
            self._tell(f'making an environment in {self.folder}')
            made = _run([sys.executable, '-m', 'venv', '--clear', str(self.folder)])
            if made.returncode:
                raise CnoidControlError(
                    f'an environment cannot be made in {self.folder}: {_last(made)}'
                )
        own = self._own_folder()
        assert own is not None  # It has just been made.
        # Theirs come after its own, with all that their .pth files do.
        lines = [f'import site; site.addsitedir({folder!r})' for folder in self._there]
        (own / LOOK_THERE).write_text('\n'.join(lines) + '\n', encoding='utf-8')

    def _own_folder(self) -> Path | None:
        return next(self.folder.glob('**/site-packages'), None)

    def install(self) -> None:
        """Install what is not there of the peers; which has no wheel is told and left out.

        Raises:
            CnoidControlError: no package index can be reached.
        """
        for name, reason in self._reasons().items():
            if not reason or name not in PEERS:
                continue
            self._tell(f'installing {PEERS[name]}')
            done = self._pip(*PEERS[name].split())
            if not done.returncode and self._reasons()[name]:
                # Compiled libraries look for each other in their own folder, not where ours are.
                done = self._pip(*PEERS[name].split(), '--ignore-installed')
            reason = _last(done) if done.returncode else self._reasons()[name]
            if reason:
                self._tell(f'{name} is left out: {reason}')

    def _pip(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Install wheels.

        Raises:
            CnoidControlError: no package index can be reached.
        """
        options = ['--quiet', '--disable-pip-version-check', '--only-binary', ':all:']
        options += ['--retries', '1', '--timeout', '15']
        done = _run([str(self.python), '-m', 'pip', 'install', *options, *words])
        if done.returncode and any(sign in done.stderr for sign in OFFLINE):
            raise CnoidControlError(
                f'{words[0]} cannot be installed: no package index can be reached; peers '
                'come from one, --compare needs a network the first time'
            )
        return done

    def found(self) -> list[str]:
        """Those of the peers that can be imported there.

        Raises:
            CnoidControlError: its interpreter does not run.
        """
        return [name for name, reason in self._reasons().items() if not reason]

    def _reasons(self) -> dict[str, str]:
        """Why each peer cannot be imported there; empty for those that can."""
        done = _run([str(self.python), '-c', IMPORT, *self.modules])
        if done.returncode:
            raise CnoidControlError(
                f'{self.python} does not run: {_last(done)}; remove its folder'
            )
        reasons: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
        return reasons

    def measure(self, names: Sequence[str], repeats: int | None) -> dict[str, Any]:
        """Measure rows there; the report of `cnoid_control bench --json`.

        Raises:
            CnoidControlError: it gives no report.
        """
        with tempfile.TemporaryDirectory() as folder:
            # To a file: others write to the standard output what they like.
            file = Path(folder) / 'report.json'
            words = ['-m', 'cnoid_control.cli.main', 'bench', *names, '--json', str(file)]
            if repeats is not None:
                words += ['--repeats', str(repeats)]
            done = _run([str(self.python), *words])
            if not file.is_file():
                raise CnoidControlError(f'the rows of peers gave no report: {_last(done)}')
            report: dict[str, Any] = json.loads(file.read_text(encoding='utf-8'))
        return report


def _site_folders() -> list[str]:
    """Folders that hold what is installed for this interpreter."""
    folders = [*site.getsitepackages(), site.getusersitepackages()]
    return [folder for folder in folders if folder in sys.path]


def _run(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, capture_output=True, text=True, check=False)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    """The last thing that a program said, where it said anything."""
    lines = (done.stderr or done.stdout).strip().splitlines()
    return lines[-1].removeprefix('ERROR: ') if lines else f'exit status {done.returncode}'
