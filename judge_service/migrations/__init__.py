"""Migrations of the ledger, run by Alembic when a ledger is opened."""
