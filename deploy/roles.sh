#!/bin/sh
# The roles and databases of Kontor. PostgreSQL's container runs it once, when its data directory is made; for a server of your own,
# as one who may make roles: OWNER_PASSWORD=… SERVICE_PASSWORD=… DAGSTER_PASSWORD=… sh deploy/roles.sh
set -eu
psql --quiet --no-psqlrc --set ON_ERROR_STOP=1 --username "${POSTGRES_USER:-postgres}" --dbname "${POSTGRES_DB:-postgres}" <<'SQL'
\getenv owner OWNER_PASSWORD
\getenv service SERVICE_PASSWORD
\getenv dagster DAGSTER_PASSWORD
CREATE ROLE kontor_owner LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'owner';
CREATE ROLE kontor LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'service';
CREATE ROLE kontor_dagster LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD :'dagster';
CREATE DATABASE kontor OWNER kontor_owner;
CREATE DATABASE kontor_dagster OWNER kontor_dagster;
REVOKE CONNECT ON DATABASE kontor, kontor_dagster FROM PUBLIC;
GRANT CONNECT ON DATABASE kontor TO kontor;
SQL
