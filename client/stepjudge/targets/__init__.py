"""Targets are what a runner lets attempt a task: a callable, a model endpoint, or an agent behind HTTP."""

from stepjudge.targets.target import Assignment, BadTarget, Delivery, Target

__all__ = ["Assignment", "BadTarget", "Delivery", "Target"]
