"""A real browser; skipped, with the reason, where there is none."""

from collections.abc import Iterator
from typing import Any

import pytest
from view_rig import HOW, SOFTWARE_GL, find_chromium


@pytest.fixture(scope='session')
def browser() -> Iterator[Any]:
    """Return a headless Chromium that is driven by Playwright."""
    pytest.importorskip('viser')
    driver = pytest.importorskip('playwright.sync_api', reason="pip install 'playwright'")
    path = find_chromium()
    if not path:
        pytest.skip(f'there is no Chromium: {HOW}')
    with driver.sync_playwright() as playwright:
        made = playwright.chromium.launch(
            executable_path=path, args=['--no-sandbox', *SOFTWARE_GL]
        )
        yield made
        made.close()
