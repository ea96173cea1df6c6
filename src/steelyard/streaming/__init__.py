"""``steelyard stream``: one pass over a file or a pipe, with decisions, state and live measures."""
