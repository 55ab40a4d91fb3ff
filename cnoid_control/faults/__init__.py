"""Fault injection and the fault table."""

from cnoid_control.faults.table import FaultResult, run_row, to_json, to_markdown

__all__ = ['FaultResult', 'run_row', 'to_json', 'to_markdown']
