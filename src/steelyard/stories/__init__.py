"""Stories: whole scenes on real or generated data, each a short file of ``examples/``, run by ``steelyard story``."""

from .runner import STORIES, Story, run_story

__all__ = ["STORIES", "Story", "run_story"]
