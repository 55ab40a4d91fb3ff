"""What keeps the robot safe in every tick."""
