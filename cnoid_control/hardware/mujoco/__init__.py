"""Embedded physics with MuJoCo."""
