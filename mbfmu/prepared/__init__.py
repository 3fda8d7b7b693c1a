"""A model with its stepper, ready to run or to pack, and the cache of what a second start needs."""
