"""``python -m steelyard``: the command line, of the Python that is named."""

from .cli import main

if __name__ == "__main__":
    main()
