"""An adapter is stepjudge as a metric of somebody else's evaluator: one module per host, importing it only when used.

Each turns the host's own object into a trace, asks one `metric.StepMetric`, and puts the `reading.Reading` where that
host shows such things. What could not be scored is `NotScored`, which each adapter turns into its host's own notion of it.
"""
