"""Peers live in an environment of their own, which sees what is installed here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cnoid_control import CnoidControlError
from cnoid_control.bench import peers, registry
from cnoid_control.bench.peers import PEERS, PeerEnvironment
from cnoid_control.bench.report import Report
from cnoid_control.bench.row import FigureResult, MetricRow
from cnoid_control.cli.main import main

INSTALLED = 'no_such_peer'
MODULES = ['numpy', 'pinocchio', 'cnoid_control', 'a_peer', 'b_peer']


@pytest.fixture(scope='module')
def cache(tmp_path_factory) -> Path:
    """A folder for environments that the tests of this file share."""
    return tmp_path_factory.mktemp('cache')


@pytest.fixture
def environment(cache, monkeypatch) -> PeerEnvironment:
    """An environment without peers."""
    monkeypatch.setenv('CNOID_CONTROL_CACHE', str(cache))
    made = PeerEnvironment(MODULES, lambda text: None)
    made.make()
    return made


def add_module(environment: PeerEnvironment, name: str, code: str = '') -> None:
    """What pip would do for a peer."""
    own = next(environment.folder.glob('**/site-packages'))
    (own / f'{name}.py').write_text(code)


def test_it_has_what_is_installed_here_and_its_own(environment):
    """The same libraries, and cnoid_control itself; nothing of it can be imported here."""
    add_module(environment, 'a_peer')
    assert sorted(environment.found()) == ['a_peer', 'cnoid_control', 'numpy', 'pinocchio']
    code = 'import numpy; print(numpy.__file__)'
    there, here = (
        subprocess.run([str(python), '-c', code], capture_output=True, text=True, check=True)
        for python in (environment.python, sys.executable)
    )
    assert there.stdout == here.stdout
    assert subprocess.run([sys.executable, '-c', 'import a_peer'], check=False).returncode


def pip_of(environment: PeerEnvironment, monkeypatch, installs) -> list[list[str]]:
    """What pip is called with, where `installs(words)` stands for what it does."""
    calls = []
    real = peers._run

    def run(words):
        if 'pip' not in words:
            return real(words)
        calls.append(words)
        return installs(words) or subprocess.CompletedProcess(words, 0, '', '')

    monkeypatch.setattr(peers, '_run', run)
    monkeypatch.setattr(peers, 'PEERS', {'numpy': 'numpy', 'b_peer': 'no-such-peer>=1.0'})
    return calls


def test_only_what_is_not_there_is_installed(environment, monkeypatch):
    """One at a time, as wheels, by the name that the package index has for it."""
    calls = pip_of(environment, monkeypatch, lambda words: add_module(environment, 'b_peer'))
    environment.install()
    assert [words[-1] for words in calls] == ['no-such-peer>=1.0']
    assert {'--only-binary', ':all:'} <= set(calls[0])
    assert calls[0][0] == str(environment.python)
    environment.install()
    assert len(calls) == 1


def test_what_cannot_be_imported_beside_our_libraries_gets_its_own(environment, monkeypatch):
    """Where that does not help either, it is left out, with the reason."""
    told = []
    environment = PeerEnvironment([*MODULES, 'c_peer'], told.append)
    environment.make()

    def install(words):
        lonely = 'raise OSError("libpeer.so.1")'
        add_module(environment, 'b_peer', lonely)
        add_module(environment, 'c_peer', '' if '--ignore-installed' in words else lonely)

    calls = pip_of(environment, monkeypatch, install)
    monkeypatch.setattr(peers, 'PEERS', {'c_peer': 'c-peer'})
    environment.install()
    assert ['--ignore-installed' in words for words in calls] == [False, True]
    assert 'c_peer' in environment.found()
    monkeypatch.setattr(peers, 'PEERS', {'b_peer': 'b-peer'})
    environment.install()
    assert 'b_peer is left out: OSError: libpeer.so.1' in told
    assert 'b_peer' not in environment.found()


def test_without_a_network_it_says_so(environment, monkeypatch):
    """What has no wheel, on the other hand, is left out, and the others are installed."""
    told, said = [], ['WARNING: Retrying after connection broken by NewConnectionError\nERROR: No']
    environment = PeerEnvironment(['e_peer', 'd_peer'], told.append)
    environment.make()
    pip_of(
        environment, monkeypatch, lambda words: subprocess.CompletedProcess(words, 1, '', said[-1])
    )
    monkeypatch.setattr(peers, 'PEERS', {'d_peer': 'd-peer', 'e_peer': 'e-peer'})
    with pytest.raises(
        CnoidControlError, match=r'd-peer cannot .*: no package index can be reached'
    ):
        environment.install()
    said.append('ERROR: No matching distribution found')
    environment.install()
    assert 'd_peer is left out: No matching distribution found' in told
    assert 'e_peer is left out: No matching distribution found' in told


def test_rows_of_peers_are_measured_there(monkeypatch, capsys, tmp_path):
    """The table has the rows of all environments, in their order; one for what goes together."""
    wanted = {'one': 'peer_a', 'three': 'peer_b peer_c', 'four': 'peer_a', 'five': 'nobody'}
    rows = [
        MetricRow(
            name, 'a thing', 'a peer', lambda: 2.0, 's', goal=3.0, needs=wanted.get(name, '')
        )
        for name in ('one', 'two', 'three', 'four', 'five')
    ]
    monkeypatch.setattr(registry, 'bench_rows', lambda names: rows)
    monkeypatch.setattr(peers, 'PEERS', dict.fromkeys(('peer_a', 'peer_b', 'peer_c'), 'x'))
    for name in ('make', 'install'):
        monkeypatch.setattr(PeerEnvironment, name, lambda self: None)
    monkeypatch.setattr(PeerEnvironment, 'found', lambda self: self.modules)
    asked = []

    def measure(self, names, repeats):
        asked.append((self.modules, names, repeats))
        figures = [
            FigureResult(name, 'a thing', 'a peer', 's', '<= 0', 0.5, False, 'It does more.')
            for name in names
        ]
        return Report(figures=figures, versions={'numpy': 'old', 'x': '1.2'}).to_dict()

    monkeypatch.setattr(PeerEnvironment, 'measure', measure)
    file = tmp_path / 'page.md'
    words = ['bench', '--compare', '--repeats', '2', '--json', '--markdown', str(file)]
    assert main(words) == 0
    assert asked == [
        (['peer_a'], ['one', 'four'], 2),
        (['peer_b', 'peer_c'], ['three'], 2),
    ]
    report = json.loads(capsys.readouterr().out)
    assert [figure['name'] for figure in report['figures']] == ['one', 'two', 'three', 'four']
    assert [row['name'] for row in report['missing']] == ['five']
    assert report['versions']['x'] == '1.2'
    assert report['versions']['numpy'] != 'old'
    assert report['versions']['numpy beside peer_a'] == 'old'
    assert '- `one`: It does more.' in file.read_text()


def test_what_was_measured_is_shown_where_peers_cannot_be_had(monkeypatch, capsys):
    """With the reason, with the rows that are missing and with those of other peers."""
    rows = [
        MetricRow('one', 'a thing', 'a peer', lambda: 2.0, 's', goal=3.0, needs=INSTALLED),
        MetricRow('two', 'a thing', 'a peer', lambda: 2.0, 's', goal=3.0),
        MetricRow('three', 'a thing', 'a peer', lambda: 2.0, 's', goal=3.0, needs='peer_b'),
    ]
    monkeypatch.setattr(registry, 'bench_rows', lambda names: rows)
    monkeypatch.setattr(peers, 'PEERS', {INSTALLED: 'no-such-peer', 'peer_b': 'x'})

    def make(self):
        if self.modules == [INSTALLED]:
            raise CnoidControlError('the disk is full')

    def measure(self, names, repeats):
        return Report(figures=[row.result() for row in rows if row.name in names]).to_dict()

    monkeypatch.setattr(PeerEnvironment, 'make', make)
    monkeypatch.setattr(PeerEnvironment, 'install', lambda self: None)
    monkeypatch.setattr(PeerEnvironment, 'found', lambda self: self.modules)
    monkeypatch.setattr(PeerEnvironment, 'measure', measure)
    assert main(['bench', '--compare', '--json']) == 0
    shown = capsys.readouterr()
    report = json.loads(shown.out)
    assert [figure['name'] for figure in report['figures']] == ['two', 'three']
    assert [row['name'] for row in report['missing']] == ['one']
    assert '--compare: the disk is full' in shown.err


def test_a_row_is_measured_in_a_process_of_the_environment(environment):
    """With the bench of this package, whose report comes back whatever else is printed."""
    report = environment.measure(['klampt_times'], None)
    assert [row['name'] for row in report['missing']] == ['klampt_times']
    with pytest.raises(CnoidControlError, match=r'gave no report: .*unknown row'):
        environment.measure(['no_such_row'], None)


def test_the_extra_has_peers_of_the_table():
    """In the same versions as `--compare` installs."""
    setup = (Path(__file__).parents[2] / 'setup.py').read_text(encoding='utf-8')
    line = next(line for line in setup.splitlines() if line.strip().startswith("'bench': ["))
    assert set(re.findall(r"'([^']+)'", line.partition(':')[2])) <= set(PEERS.values())
