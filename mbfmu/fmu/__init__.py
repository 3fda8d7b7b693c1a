"""The FMU: its variables, description, slave and export."""
