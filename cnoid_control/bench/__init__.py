"""The performance table: ratios of two things that are measured in one run.

Each module `rows_*.py` in this package contributes its `ROWS`.
"""
