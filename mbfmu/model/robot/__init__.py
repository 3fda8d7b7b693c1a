"""Robots: trees of links and joints, whichever format their file has, and the systems they become."""
