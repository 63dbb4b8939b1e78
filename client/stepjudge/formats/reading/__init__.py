"""Reading is what all trace formats share: bytes to JSON, JSON to the right reader, messages and results to a trace."""
