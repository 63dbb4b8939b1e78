"""Fault injection breaks exactly one step of a trace in a known way, so that what a judge says can be checked.

Each kind of fault is one module: where it can be put (its places), and what the broken trace is.
"""
