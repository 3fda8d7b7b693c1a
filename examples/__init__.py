"""Examples: scripts whose main() returns numbers."""
