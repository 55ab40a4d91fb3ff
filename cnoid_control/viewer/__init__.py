"""Seeing a robot: pictures that need no display."""
