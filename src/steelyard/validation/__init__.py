"""Checks of user input: ``values`` (numbers, choices) and ``arrays`` (rows, labels; scikit-learn)."""
