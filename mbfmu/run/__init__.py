"""Runs: a model or an FMU over time, step by step, in loops, many together and coupled."""
