from pathlib import Path

import pytest

from cnoid_control import share


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """Pretend that the package is installed below a prefix, and return that prefix."""
    package = tmp_path / 'lib' / 'python3.12' / 'site-packages' / 'cnoid_control'
    config = tmp_path / 'share' / 'cnoid_control' / 'config'
    package.mkdir(parents=True)
    config.mkdir(parents=True)
    (config.parent / 'package.xml').touch()
    (config / 'one.yaml').touch()
    (config / 'notes.txt').touch()
    monkeypatch.setattr(share, '__file__', str(package / 'share.py'))
    share.share_folder.cache_clear()
    yield tmp_path
    share.share_folder.cache_clear()


def test_a_checkout_shares_its_own_folders(root):
    """In a checkout the files that are edited are the ones that are used."""
    assert share.share_folder() == root


def test_an_installation_shares_what_was_installed(installed):
    """An installed package finds share/cnoid_control of its own prefix."""
    assert share.share_folder() == installed / 'share' / 'cnoid_control'


def test_a_shared_file_is_found_by_name_with_and_without_suffix(installed):
    """Both one.yaml and one name the shared configuration."""
    expected = installed / 'share' / 'cnoid_control' / 'config' / 'one.yaml'
    assert share.shared_file('config', 'one.yaml') == expected
    assert share.shared_file('config', 'one', '.yaml') == expected


def test_a_path_comes_before_the_shared_files(installed, tmp_path, monkeypatch):
    """An existing path is taken as it is."""
    (tmp_path / 'one.yaml').touch()
    monkeypatch.chdir(tmp_path)
    assert share.shared_file('config', 'one.yaml') == Path('one.yaml')


def test_an_unknown_name_is_refused_with_the_choices(installed):
    """The error names what was looked for and what there is, of the wanted kind only."""
    with pytest.raises(share.CnoidControlError, match=r"'two' .*; choose from: one\.yaml$"):
        share.shared_file('config', 'two', '.yaml')


def test_a_package_without_its_shared_files_says_so(installed):
    """A copy of the bare package asks to be installed again."""
    (installed / 'share' / 'cnoid_control' / 'package.xml').unlink()
    with pytest.raises(share.CnoidControlError, match='install the package again'):
        share.share_folder()
