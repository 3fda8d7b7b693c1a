"""Systems as TOML: reader, writer, and the schema with which editors complete and check."""

from mbfmu.model.toml.reader import from_toml, is_model, read_toml
from mbfmu.model.toml.schema import schema
from mbfmu.model.toml.writer import to_toml

__all__ = ["from_toml", "is_model", "read_toml", "schema", "to_toml"]
