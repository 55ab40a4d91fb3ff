"""docs/safety.md: every guarantee names the test that proves it."""

import re
from pathlib import Path

import pytest

TEST = Path(__file__).resolve().parent
PAGE = (TEST.parent / 'docs' / 'safety.md').read_text(encoding='utf-8')
GUARANTEES = re.search(r'## Guarantees\n(.*?)\n## Reference', PAGE, re.DOTALL)[1]
BULLETS = re.findall(r'^- (.*?)(?=^- |^#|\Z)', GUARANTEES, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize('bullet', BULLETS, ids=lambda bullet: ' '.join(bullet.split())[:40])
def test_a_guarantee_names_a_test_that_exists(bullet):
    """Each bullet cites file::test, and that test is there."""
    cited = re.findall(r'`([\w/]+\.py)::(\w+)`', bullet)
    assert cited
    for file, name in cited:
        assert f'def {name}(' in (TEST / file).read_text(encoding='utf-8')


def test_there_are_guarantees():
    """The page is read as it is meant to be."""
    assert len(BULLETS) > 20
