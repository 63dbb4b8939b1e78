"""A judge is what produces answers: one module each."""
