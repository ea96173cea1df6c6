"""Boosting with costs: AdaBoost.M1, AdaC2.M1 and relatives. Paper 003."""

__all__: list[str] = []
