"""Answers beside runs over time: steady states, modes, derivatives, studies, fits, given motions, comparisons."""
