"""The control node."""
