"""The FMU: its variables, description, slave, export and check."""
