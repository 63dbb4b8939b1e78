"""The JSON routes, one module per resource."""
