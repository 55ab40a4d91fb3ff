"""The command line; it has no public names, `cnoid_control --help` shows what it does."""

__all__: list[str] = []
