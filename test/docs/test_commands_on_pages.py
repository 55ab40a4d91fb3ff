"""Every command line of the README and of docs/: its options exist, and what can be run here runs.

Runs are shortened. What needs ROS, a keyboard, somebody else's robot, or files that only the
reader has is parsed alone; `NOT_RUN` says which commands these are.
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
from pathlib import Path

import pytest

from cnoid_control.cli.main import main, make_parser
from cnoid_control.share import share_folder

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / 'README.md', *sorted((ROOT / 'docs').glob('*.md'))]
# Words of commands that need what is not here, or take long; other tests are about them.
NOT_RUN = {
    'bench', 'check', 'faults', 'plot', 'policy', 'render', 'teleop', 'tune', 'view',
    '--teleop', '--view', '...',
}  # fmt: skip
SHORT = {'--duration': '0.02', '--runs': '2', '--trials': '2'}


def commands_on(page: Path) -> list[list[str]]:
    """Words of the command lines of a page, without comments; `a && b` is two."""
    text = page.read_text(encoding='utf-8').replace('\\\n', ' ')
    found = []
    for line in re.findall(r'^(?:    |\$ )(cnoid_control .*)$', text, re.MULTILINE):
        for part in line.split(' && '):
            words = shlex.split(part, comments=True)
            if '--ros-args' not in words:
                found.append(words[1:])
    return found


COMMANDS = [(page.name, words) for page in PAGES for words in commands_on(page)]


def test_there_are_commands() -> None:
    """The pages are read as they are written."""
    assert len(COMMANDS) > 60


@pytest.mark.parametrize(
    ('page', 'words'), COMMANDS, ids=[f'{page}: {" ".join(words)}' for page, words in COMMANDS]
)
def test_its_options_exist(page: str, words: list[str]) -> None:
    """No option of a page is a thing of the past."""
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            make_parser().parse_args([word for word in words if word != '...'])
    except SystemExit:
        pytest.fail(said.getvalue())


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with what the pages call the reader's: a robot and a controller."""
    readme = (ROOT / 'README.md').read_text(encoding='utf-8')
    (hold,) = (
        code for code in re.findall(r'```python\n(.*?)```', readme, re.DOTALL) if 'Hold' in code
    )
    (tmp_path / 'hold.py').write_text(hold)
    shutil.copy(share_folder() / 'urdf' / 'arm.urdf', tmp_path / 'my_robot.urdf')
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv('CNOID_CONTROL_CACHE', str(tmp_path / 'cache'))
    return tmp_path


def can_run(words: list[str], folder: Path) -> bool:
    """Whether all that a command needs is part of the package, or in the folder."""
    if NOT_RUN & set(words) or not words:
        return False
    command, *rest = words
    name = next((word for word in rest if not word.startswith('-')), '')
    shipped = {path.stem for kind in ('config', 'urdf') for path in (ROOT / kind).iterdir()}
    shipped |= {path.stem for path in (ROOT / 'policy').iterdir()}
    is_here = name in shipped or (folder / name).is_file()
    return is_here or command in ('list', 'new') or (command == 'get' and not name)


def shortened(words: list[str]) -> list[str]:
    """The command with a short run in the place of its own."""
    # What is required of many runs need not hold for two.
    while '--require' in words:
        at = words.index('--require')
        words = [*words[:at], *words[at + 2 :]]
    short = [SHORT.get(before, word) for before, word in zip(['', *words], words, strict=False)]
    if words[0] in ('run', 'evaluate') and '--duration' not in words:
        short += ['--duration', '0.02']
    return short


@pytest.mark.parametrize('page', PAGES, ids=lambda page: page.name)
def test_what_can_be_run_runs(page: Path, folder: Path, capsys) -> None:
    """In the order of the page, in one folder: later commands use files of earlier ones."""
    for words in commands_on(page):
        if can_run(words, folder):
            status = main(shortened(words))
            said = capsys.readouterr()
            assert status == 0, f'{" ".join(words)}\n{said.err}'
