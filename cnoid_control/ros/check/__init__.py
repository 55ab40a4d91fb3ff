"""A look at a running ros2_control system before anything is commanded.

`look` collects what is there, without a publisher and without a call that changes anything;
`plan` says what of it would be used; `findings` says what is wrong, in the order in which to mend
it; `section` writes the part of a configuration that follows from it.
"""

from cnoid_control.lazy import lazy_names

_MODULES = {
    'Finding': 'findings',
    'Report': 'check',
    'Survey': 'survey',
    'check_system': 'check',
}
__all__ = ['Finding', 'Report', 'Survey', 'check_system']

__getattr__ = lazy_names(__name__, _MODULES)
