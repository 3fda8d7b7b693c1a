"""The parts of a Dae: a transformer of equations replaces those that it changes.

`equations` are those of motion, `constraints` those on coordinates and rates, `energies` what the motion stores and
takes, `start` the consistent start; `gaps`, `sampling` and `pressing` are for what not every model has, `about` is for
readers. `writer` makes the first three from expressions. No part knows the Dae.
"""
