"""What keeps a robot safe, whatever its controllers do."""
