-- A role that reads what was released, and nothing else.
--
-- Run it on the collector's database, as the owner of its tables who may create roles:
--
--     psql --set role=analyst --file analyst_role.sql postgresql://OWNER@HOST/DATABASE
--
-- then give it a password with \password, or a line in pg_hba.conf. The views read the tables with
-- the rights of their owner; the role itself has none on any table. It may still ask PostgreSQL how
-- many rows each has: hide_sizes.sql beside this file, for a superuser, ends that. If CONNECT was revoked from
-- PUBLIC, grant it: GRANT CONNECT ON DATABASE name TO role.
BEGIN;
CREATE ROLE :"role" LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS;
-- Guards against slips, not against the role, which may turn it off and still has no table to write.
ALTER ROLE :"role" SET default_transaction_read_only = on;
ALTER ROLE :"role" SET statement_timeout = '60s';
ALTER ROLE :"role" SET search_path = deniable, pg_temp;
GRANT USAGE ON SCHEMA deniable TO :"role";
GRANT SELECT ON deniable.released_tallies, deniable.released_batches, deniable.period_states
    TO :"role";
COMMIT;
