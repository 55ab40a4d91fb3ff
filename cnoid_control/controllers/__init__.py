"""The controllers that come with the package, one class a file."""
