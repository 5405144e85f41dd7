"""PostgreSQL: connections, the embedded server, migrations, tables, jobs and notifications. Queries belong to the stores."""
