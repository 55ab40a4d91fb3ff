"""Fault injection and the fault table."""
