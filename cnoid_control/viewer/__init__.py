"""Browser view: what a robot does, in a page of its own process."""
