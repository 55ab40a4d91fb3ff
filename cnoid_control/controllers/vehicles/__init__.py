"""Vehicles on tracks and wheels, and the joystick that they are driven by."""
