"""Files that commands write: what somebody has written is never lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from cnoid_control.cli.main import main
from cnoid_control.cli.output_file import check_output
from cnoid_control.exceptions import CnoidControlError

CONFIG = '/**: {ros__parameters: {robot: {model: pendulum}, controller: pd}}\n'
EVALUATE = ['evaluate', 'mine.yaml', '--runs', '1', '--duration', '0.01', '--workers', '0']
TUNE = ['tune', 'mine.yaml', '--vary', 'pd.kp=10..20', '--minimize', 'max_joint_error']
TUNE += ['--trials', '1', '--duration', '0.01', '--workers', '0']
LIST = ['list', '--graph', 'mine.yaml', '--draw']
SHOW = ['show', 'pendulum', '--draw']


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Working folder with a configuration and files of the user."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'mine.yaml').write_text(CONFIG)
    for name in ('code.py', 'text.png', 'text.mcap', 'text.journal', 'other.yaml', 'path.csv'):
        (tmp_path / name).write_text('time,joint\n0.0,1.0\n')
    return tmp_path


@pytest.mark.parametrize(
    ('words', 'refusal'),
    [
        ([*EVALUATE, '--csv', 'mine.yaml'], '--csv mine.yaml cannot be written: its name must'),
        ([*EVALUATE, '--csv', 'path.csv'], 'was not written by this command'),
        ([*EVALUATE, '--parquet', 'code.py'], 'choose from: .parquet'),
        ([*EVALUATE, '--replay-worst', 'code.py'], 'choose from: .mcap'),
        ([*EVALUATE, '--replay-worst', 'text.mcap'], 'what is there is no .mcap file'),
        ([*EVALUATE, '--write-config', 'mine.yaml'], 'it is what is read'),
        ([*EVALUATE, '--write-config', 'other.yaml'], 'was not written by this command'),
        ([*EVALUATE, '--plot', 'text.png'], 'what is there is no .png file'),
        ([*TUNE, '--csv', 'other.yaml'], 'choose from: .csv'),
        ([*TUNE, '--csv', 'path.csv'], 'was not written by this command'),
        ([*TUNE, '--output', 'mine.yaml'], 'it is what is read'),
        ([*TUNE, '--output', 'other.yaml'], 'was not written by this command'),
        ([*TUNE, '--storage', 'text.journal'], 'what is there is no .journal file'),
        ([*TUNE, '--storage', 'code.py'], 'choose from: .journal'),
        ([*LIST, 'text.png'], 'what is there is no .png file'),
        ([*LIST, 'mine.yaml'], '--draw mine.yaml cannot be written: its name must end'),
        ([*SHOW, 'text.png'], 'what is there is no .png file'),
        ([*SHOW, 'code.py'], '--draw code.py cannot be written: its name must end otherwise'),
        (['convert', 'pendulum', 'code.py'], 'choose from: .urdf'),
        (['bench', 'loop_numpy', '--json', 'code.py'], 'choose from: .json'),
        (['faults', '--where', 'embedded', '--output', 'code.py'], 'choose from: .md'),
        (['plot', 'mine.yaml', '-o', 'path.xml'], 'was not written by this command'),
    ],
)
def test_files_of_the_user_are_kept(folder, capsys, words, refusal):
    """Before anything is done, in one line that says why and what else may be chosen."""
    (folder / 'path.xml').write_text('<robot/>\n')
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert main(words) == 1
    message = capsys.readouterr().err
    assert refusal in message
    assert len(message.splitlines()) == 1
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_what_a_command_wrote_is_written_again(folder, capsys):
    """And folders are made."""
    draw = [*SHOW, 'new/robot.png']
    evaluate = [*EVALUATE, '--csv', 'new/runs.csv', '--write-config', 'new/worst.yaml']
    tune = [*TUNE, '--output', 'new/best.yaml', '--csv', 'new/trials.csv']
    for words in (draw, evaluate, tune, ['convert', 'pendulum', 'new/pendulum.urdf']):
        assert main(words) == 0, capsys.readouterr().err
        assert main(words) == 0, capsys.readouterr().err


def test_a_model_is_not_overwritten_by_its_conversion(folder, capsys):
    """Neither by its path nor by another path of the same file."""
    (folder / 'out.urdf').write_text('<robot name="r"><link name="l"/></robot>')
    assert main(['convert', 'out.urdf', f'{folder}/out.urdf']) == 1
    assert 'it is what is read' in capsys.readouterr().err


@pytest.mark.parametrize('suffix', ['.svg', '.tiff', '.webp', '.pdf', '.jpg', '.eps'])
def test_plots_of_every_kind_are_written_again(tmp_path: Path, suffix: str) -> None:
    """What matplotlib writes is known by its first bytes."""
    import matplotlib.pyplot as plt

    path = tmp_path / f'x{suffix}'
    figure = plt.figure(figsize=(1.0, 1.0))
    figure.savefig(path)
    plt.close(figure)
    check_output('--plot', path, [suffix])
    path.write_text('my notes')
    with pytest.raises(CnoidControlError, match=f'no {suffix} file'):
        check_output('--plot', path, [suffix])
