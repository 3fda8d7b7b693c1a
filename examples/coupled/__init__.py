"""Mechanisms coupled with actuators and controllers, each an FMU of its own."""
