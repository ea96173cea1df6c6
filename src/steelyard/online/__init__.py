"""One pass over a stream: update rules and OnlineClassifier. Papers 000 and 001."""

__all__: list[str] = []
