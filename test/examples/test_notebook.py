"""The notebook of examples/: every cell runs, and what it shows is there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope='module')
def outputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Any]]:
    """Return what each cell has put out, by the first line of the cell."""
    nbformat = pytest.importorskip('nbformat')
    nbclient = pytest.importorskip('nbclient')
    pytest.importorskip('ipykernel')
    notebook = nbformat.read(ROOT / 'examples' / 'first_steps.ipynb', as_version=4)
    client = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name='python3',
        resources={'metadata': {'path': str(tmp_path_factory.mktemp('notebook'))}},
    )
    client.execute()
    return {
        cell.source.splitlines()[0]: cell.outputs
        for cell in notebook.cells
        if cell.cell_type == 'code'
    }


def test_it_ends_without_an_error_and_shows_every_object(outputs: dict[str, list[Any]]) -> None:
    """Robots and simulations as table and picture, recordings as table and plot."""
    for first, words in {
        "robot = load_robot('arm.urdf')": ('<img src="data:image/png', 'joint7', 'fixed base'),
        "done = run('sr1_pd', duration=1.0)": ('<img src="data:image/png', 'max_tilt_deg'),
        'done.recorded': ('<img src="data:image/png', 'Recording of 1000 ticks'),
        'frame = done.recorded.to_pandas()': ('RLEG_KNEE', '1000'),
        'simulation.close()': ('<td style="text-align:left">completed', 'ticks'),
    }.items():
        html = outputs[first][-1].data['text/html']
        for word in words:
            assert word in html, (first, word)


def test_it_stores_no_outputs() -> None:
    """What is in the repository is what was written, not what a machine has drawn."""
    text = (ROOT / 'examples' / 'first_steps.ipynb').read_text(encoding='utf-8')
    assert '"outputs": []' in text
    assert 'image/png' not in text


def test_inverse_kinematics_in_it_reaches_its_goal(outputs: dict[str, list[Any]]) -> None:
    """To a tenth of a millimetre."""
    text = outputs['arm = JointPath(robot.root_link, robot.links[-1])'][0].text
    assert 'reached: True' in text
    assert float(text.split('error:')[1].split()[0]) < 1e-4
