"""The jobs of a step in a JVM: those of its group, and those that its session has tagged."""

from __future__ import annotations

from typing import Any


def job_numbers(gateway: Any, context: Any, group: str, tag: str | None) -> set[int]:
    """The numbers of all jobs that Spark still knows of; one call brings all of a kind over."""
    tracker = context.statusTracker()
    to_text = gateway.jvm.java.util.Arrays.toString
    found = [tracker.getJobIdsForGroup(group)]
    if tag is not None:
        found.append(tracker.getJobIdsForTag(tag))
    texts = [str(to_text(numbers)).strip("[]") for numbers in found]
    return {int(item) for text in texts for item in text.split(",") if item.strip()}


def find_job(context: Any, number: int) -> tuple[Any, int | None]:
    """A job, and the number of the SQL execution that it works for, if it does for one."""
    found = context.statusStore().jobWithAssociatedSql(number)
    execution = found._2()
    return found._1(), int(execution.get()) if execution.isDefined() else None


def stages_of(context: Any, job: Any) -> list[Any]:
    """The stages of a job, as Spark's status store has them."""
    numbers = [int(item) for item in str(job.stageIds().mkString(",")).split(",") if item]
    return [context.statusStore().lastStageAttempt(number) for number in numbers]
