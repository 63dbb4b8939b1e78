"""The `stepjudge` command, one module per subcommand."""
