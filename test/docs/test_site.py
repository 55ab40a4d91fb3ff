"""The site: it is built without a warning, and has what the package declares."""

from __future__ import annotations

import html
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip('mkdocs', reason='needs mkdocs-material')
pytest.importorskip('mkdocstrings', reason='needs mkdocstrings')

from cnoid_control.parameter_reference import describe_parameters
from cnoid_control.plugin.registry import controller_names
from cnoid_control.runtime.config import RunParameters


@pytest.fixture(scope='module')
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    root = Path(__file__).resolve().parents[2]
    folder = tmp_path_factory.mktemp('site')
    command = [sys.executable, '-m', 'mkdocs', 'build', '--strict', '--site-dir', str(folder)]
    variables = {**os.environ, 'NO_MKDOCS_2_WARNING': '1'}
    result = subprocess.run(
        command, cwd=root, env=variables, capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
    return folder


def text_of(site: Path, page: str) -> str:
    """Text of a page, without its tags."""
    content = (site / page / 'index.html').read_text(encoding='utf-8')
    return html.unescape(re.sub(r'<[^>]+>', '', content))


def test_every_key_of_a_configuration_is_there(site: Path) -> None:
    """With its meaning."""
    text = text_of(site, 'reference/configuration')
    for row in describe_parameters(RunParameters):
        assert row.key in text
        assert row.description.replace('`', '') in text.replace('`', '')


def test_every_controller_is_there(site: Path) -> None:
    """With its options."""
    text = text_of(site, 'reference/controllers')
    assert set(controller_names()) <= set(text.split())
    assert 'motion_queue.actuators' in text


def test_the_api_is_there(site: Path) -> None:
    """Everything that can be imported, with the units of its arrays."""
    import cnoid_control

    text = text_of(site, 'reference/api')
    assert all(name in text for name in cnoid_control.__all__)
    assert 'joint displacements [rad] or [m]' in text


def test_what_controllers_compute_with_is_in_the_api(site: Path) -> None:
    """The functions that docs/controllers.md teaches, and the messages of mailboxes."""
    page = (site / 'reference' / 'api' / 'index.html').read_text(encoding='utf-8')
    for name in (
        'body.kinematics.calc_mass_matrix',
        'body.kinematics.calc_inverse_dynamics',
        'body.body.Body.calc_center_of_mass',
        'body.joint_path.JointPath.calc_inverse_kinematics',
        'plugin.mailbox.Twist',
        'recording.Recording',
    ):
        assert f'id="cnoid_control.{name}"' in page, name


def test_attributes_are_listed_one_by_one(site: Path) -> None:
    """Of `kp, ki, kd: ...` in a docstring the page would make the name `kp,` and a type."""
    page = (site / 'reference' / 'api' / 'index.html').read_text(encoding='utf-8')
    assert not re.findall(r'<td><code><span title="[^"]*,">', page)
    assert re.search(r'<td><code><span title="cnoid_control\.body\.body\.Body\.q_upper">', page)


def test_examples_are_on_the_site(site: Path) -> None:
    """With their code, so that a search finds what is in them."""
    text = text_of(site, 'examples')
    assert 'gravity compensation' in text
    assert 'calc_inverse_dynamics(self.model.root_link)' in text
    examples = Path(__file__).resolve().parents[2] / 'examples'
    assert all(path.name in text for path in examples.glob('*.py'))


def test_nothing_is_asked_of_other_hosts(site: Path) -> None:
    """Fonts, scripts and styles are on the site itself."""
    for page in site.rglob('*.html'):
        content = page.read_text(encoding='utf-8')
        for tag in re.findall(r'<(?:script|link|img)[^>]*>', content):
            assert not re.search(r'(?:src|href)="https?://', tag) or 'canonical' in tag, tag
