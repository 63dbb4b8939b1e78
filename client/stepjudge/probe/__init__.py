"""A probe asks a judge the same question again in a form that should not matter, or in one that tries to talk it round.

Each family of probes is one module. A probe is pure: it changes a trace or a rubric; asking is somebody else's work.
"""
