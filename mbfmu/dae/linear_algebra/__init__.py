"""Linear algebra of expressions: systems with constraints, matrices in turned axes, redundant rows."""
