"""The state of the service as Prometheus reads it."""

from __future__ import annotations

from collections import Counter

from prometheus_client import CollectorRegistry, Gauge, generate_latest

from ..writer.group_commit import Writer


class Metrics:
    """Counts of answers by status; everything else is read from the writer when it is asked for."""

    def __init__(self) -> None:
        self.statuses: Counter[int] = Counter()

    def text(self, writer: Writer) -> bytes:
        """All numbers in Prometheus' text form."""
        registry = CollectorRegistry()

        def gauge(name: str, text: str, labels: tuple[str, ...] = ()) -> Gauge:
            return Gauge(f"steelyard_{name}", text, labels, registry=registry)

        gauge("queue_rows", "Rows that wait for the writer.").set(writer.queued)
        gauge("commits", "Transactions so far.").set(writer.batches)
        gauge("committed_rows", "Rows and answers in them.").set(writer.rows)
        gauge("commit_seconds", "Time in them.").set(writer.commit_seconds)
        answers = gauge("responses", "HTTP answers by status.", ("status",))
        for status, count in sorted(self.statuses.items()):
            answers.labels(str(status)).set(count)
        numbers = {
            "rows": ("rounds", "Rows decided."),
            "events": ("seq", "Events in the log."),
            "budget_labels": ("limit", "Labels that may be asked for in all."),
            "spent_labels": ("spent", "Labels that came."),
            "reserved_labels": ("reserved", "Labels that are awaited."),
            "open_questions": ("open", "Questions without a label."),
            "missing_cells": ("missing", "Cells that rows did not have, since the start."),
            "unknown_fields": ("unknown", "Fields that were dropped, since the start."),
        }
        for name, (field, text) in numbers.items():
            found = gauge(name, text, ("project",))
            for slug, snapshot in sorted(writer.snapshots.items()):
                found.labels(slug).set(getattr(snapshot, field))
        return generate_latest(registry)
