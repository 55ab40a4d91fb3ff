"""Robot controllers written once: run in physics on a laptop, and unchanged on a real robot."""

__version__ = '0.1.0'
