"""PostgreSQL: connections, the embedded server, migrations, tables, jobs and notifications. No query of an aggregate stands here."""
