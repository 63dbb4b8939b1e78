"""Alembic runs this module: it migrates over the connection that the ledger hands it."""
# pyright: basic

from alembic import context

from judge_service.schema import metadata

context.configure(connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True)
context.run_migrations()
