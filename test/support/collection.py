"""Test files are imported once, by pytest: launch_testing sees launch tests alone.

launch_testing imports every file to look for launch tests. Where one is skipped as a whole, for
want of a package, or where two have one name, that would end the collection of their folder.
"""

from pathlib import Path

import pytest

# The function that makes a file a launch test.
ENTRY_POINT = 'generate_test_description'


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Module | None:
    """Take every file that is no launch test, before launch_testing imports it."""
    if f'def {ENTRY_POINT}' in module_path.read_text(encoding='utf-8'):
        return None
    return pytest.Module.from_parent(parent, path=module_path)
