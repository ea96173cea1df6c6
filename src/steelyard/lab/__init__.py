"""Recipes, runs, tables and comparisons. No algorithm."""
