"""Ends a process that does not come to an end by itself, on a machine of any speed and load."""

from __future__ import annotations

import signal

WAITING = 10  # times as long as it may work it may wait: for the machine, or for something that never comes


def limit_time(seconds: int) -> None:
    """End this process after so many seconds of processor time; without a handler the signals do that.

    Time by the clock would be another limit on every machine: beside other processes it passes while nothing is done.

    Parameters
    ----------
    seconds : int
        Of processor time, from now on; 0 lifts the limit.
    """
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.alarm(WAITING * seconds)
