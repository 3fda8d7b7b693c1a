"""Basics of every room: types of arguments, files and their formats, the user's cache, results."""
