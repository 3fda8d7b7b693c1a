"""Benchmarks: time against true error, side by side."""
