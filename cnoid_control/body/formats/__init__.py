"""Readers and writers of robot models: URDF and Choreonoid's .body."""
