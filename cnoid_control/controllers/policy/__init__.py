"""Policies: neural networks in ONNX files as controllers."""

from cnoid_control.controllers.policy.controller import PolicyController, PolicyParameters

__all__ = ['PolicyController', 'PolicyParameters']
