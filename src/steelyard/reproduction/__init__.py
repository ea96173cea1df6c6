"""The papers' experiments: recipes, protocols, runs, tables, claims and pages. No algorithm."""
