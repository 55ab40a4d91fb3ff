"""The pages in docs/: all of them are listed, and their links lead somewhere."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / 'docs'
PAGES = [
    *sorted(DOCS.glob('*.md')),
    DOCS.parent / 'CONTRIBUTING.md',
    DOCS.parent / 'SECURITY.md',
    DOCS.parent / 'examples' / 'README.md',
]
LINK = re.compile(r'\]\(([^)\s]+)\)')
CODE = re.compile(r'```.*?```|`[^`\n]*`', re.DOTALL)


def anchors_of(page: Path) -> set[str]:
    """Names by which the headings of a page are linked to."""
    text = re.sub(r'```.*?```', '', page.read_text(encoding='utf-8'), flags=re.DOTALL)
    headings = re.findall(r'^#+ (.*)$', text, re.MULTILINE)
    plain = (re.sub(r'[^\w\- ]', '', heading.lower()) for heading in headings)
    return {heading.strip().replace(' ', '-') for heading in plain}


@pytest.mark.parametrize('page', PAGES, ids=lambda page: f'{page.parent.name}/{page.name}')
def test_links_lead_somewhere(page):
    """Every file and heading that a page links to is there."""
    for link in LINK.findall(CODE.sub('', page.read_text(encoding='utf-8'))):
        if '://' in link:
            continue
        path, _, anchor = link.partition('#')
        target = page.parent / path if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_every_page_is_listed():
    """The overview has each page once, and every picture is shown somewhere."""
    listed = LINK.findall((DOCS / 'README.md').read_text(encoding='utf-8'))
    assert sorted(listed) == sorted(p.name for p in DOCS.glob('*.md') if p.name != 'README.md')
    pages = [*DOCS.glob('*.md'), DOCS.parent / 'README.md']
    text = ''.join(page.read_text(encoding='utf-8') for page in pages)
    assert not [p.name for p in (DOCS / 'images').iterdir() if f'images/{p.name}' not in text]
