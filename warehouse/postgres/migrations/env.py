"""Alembic's entry: migrations run on the connection, and in the transaction, that `warehouse.postgres.migrate` opened."""

from alembic import context

from warehouse.postgres.tables import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata)
context.run_migrations()
