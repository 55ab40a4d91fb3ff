"""The performance table: ratios of two things that are measured in one run.

Each module `rows_*.py` in this package contributes its `ROWS`.
"""

from cnoid_control.bench.row import BenchRow, FailedRow, MetricRow

__all__ = ['BenchRow', 'FailedRow', 'MetricRow']
