"""The examples of the five papers, each with its claims beside what is measured."""
