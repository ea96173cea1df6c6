"""``python -m steelyard.cli``."""

from . import main

main()
