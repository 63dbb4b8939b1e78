"""The judge service applies versioned rubrics to every step of a trace and remembers every verdict."""
