"""Motions that are given: the poses, the efforts and reactions that follow from them."""
