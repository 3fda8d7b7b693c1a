"""Gaps, frictions and what happens at them.

`contacts` collects the gaps and frictions of a mechanism, which `parts/gaps` describes as data. Either `modes` gives
their rows modes that change at events, and `impact` is the formula of such an event; or `stepping` leaves their forces
to the stepper.
"""
