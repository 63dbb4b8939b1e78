"""A batch is a file of questions that a provider answers within a day, at a lower price."""
