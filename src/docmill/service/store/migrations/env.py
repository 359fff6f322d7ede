"""Alembic's environment: applies revisions on the connection of `migrate`, each in its own transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
