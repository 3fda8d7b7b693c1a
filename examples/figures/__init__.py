"""Figures that explain: drawn from runs and models of mbfmu, for a light and for a dark ground."""
