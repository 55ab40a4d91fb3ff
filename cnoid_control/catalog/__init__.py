"""Robots that others publish, in a cache on this machine, and how a model is found by its name."""

from cnoid_control.catalog.models import cache_folder, cached_model, find_model, find_policy
from cnoid_control.catalog.table import ITEMS, Item, Wheel

__all__ = ['ITEMS', 'Item', 'Wheel', 'cache_folder', 'cached_model', 'find_model', 'find_policy']
