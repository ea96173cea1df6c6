"""For processes of a pool: reading part-1 ends the process, as the system does with one that has no memory left."""

from __future__ import annotations

import os
import signal
from typing import Any


def plant() -> None:
    """Plant it in this process."""
    from steelyard.scale import lanes

    real = lanes.learn_part

    def learn(learner: Any, job: Any, position: int, reader: Any) -> Any:
        if job.files[position]["name"] == "part-1.csv":
            os.kill(os.getpid(), signal.SIGKILL)
        return real(learner, job, position, reader)

    lanes.learn_part = learn
