"""Browser view: what a robot does, in a page of its own process."""

from cnoid_control.viewer.frame import Frame
from cnoid_control.viewer.source import Description, Option, Source

__all__ = ['Description', 'Frame', 'Option', 'Source']
