"""How Alembic applies our revisions: on the connection `migrate` gives, one transaction each."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transaction_per_migration=True)
with context.begin_transaction():
    context.run_migrations()
