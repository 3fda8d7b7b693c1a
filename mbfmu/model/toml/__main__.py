"""``python -m mbfmu.model.toml`` prints the schema."""

import json

from mbfmu.model.toml.schema import schema

print(json.dumps(schema(), indent=1))
