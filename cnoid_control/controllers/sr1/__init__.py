"""Controllers for SR1, the sample humanoid."""
