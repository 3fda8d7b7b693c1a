"""The spanning tree of a mechanism: which joints carry coordinates, and recursive algorithms along it."""
