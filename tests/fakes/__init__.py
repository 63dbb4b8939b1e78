"""The project's only fake: a paid model API that speaks HTTP on a real socket."""
