"""Attacks on the judge, and what becomes of them."""
