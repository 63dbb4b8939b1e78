"""Tuning a rubric: what it is worth on labelled steps, whether another version is worth more, and finding a better one."""
