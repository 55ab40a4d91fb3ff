"""The performance table: ratios of two things that are measured in one run.

Each module `rows_*.py` in this package contributes its `ROWS`.
"""

from cnoid_control.lazy import lazy_names

__all__ = ['BenchRow', 'FailedRow', 'MetricRow']

__getattr__ = lazy_names(__name__, dict.fromkeys(__all__, 'row'))
