"""A stray quote in a CSV file beside the clean file: ``python bench/reliability/quotes.py``.

CPU seconds of reading all chunks until the end or the error, the least of several rounds taken in turn.
"""

from __future__ import annotations

import io
import time

from kept import goal, keep

from steelyard import DataFileError, iter_chunks

GOAL, ROUNDS = 2.0, 2


def seconds(content: bytes) -> float:
    started = time.process_time()
    try:
        for _ in iter_chunks(io.BytesIO(content), rows=1000, format="csv"):
            pass
    except DataFileError:
        pass
    return time.process_time() - started


def main() -> None:
    rows = []
    for n in (40_000, 400_000):
        lines = [b"a,b,c\n", *[b"1.5,x,2\n"] * n]
        clean = b"".join(lines)
        stray = {at: b"".join([*lines[:at], b'1.5,"x,2\n', *lines[at + 1 :]]) for at in (n // 100, n // 2, n - 10)}
        took = {at: seconds(content) for at, content in stray.items()} | {0: seconds(clean)}
        for _ in range(ROUNDS - 1):
            took = {at: min(before, seconds(stray.get(at, clean))) for at, before in took.items()}
        rows += [
            goal(
                f"{n:,} rows, a quote opened in line {at + 1:,}",
                f"{took[at]:.2f} CPU s",
                f"{took[0]:.2f} of the clean file",
                f"<= {GOAL}x",
                took[at] / took[0],
                took[at] <= GOAL * took[0],
            )
            for at in stray
        ]
    keep("quotes", "python bench/reliability/quotes.py", rows)


if __name__ == "__main__":
    main()
