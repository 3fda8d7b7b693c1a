"""CasADi Functions -> C text."""
