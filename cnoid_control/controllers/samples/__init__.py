"""Choreonoid's sample controllers."""
