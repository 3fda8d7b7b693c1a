"""Pages that move, plots, lists and the demonstration: what people look at."""
