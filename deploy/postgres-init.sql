-- The collector's role, which is no superuser, and its database. Runs once, in an empty cluster.
\set password `cat /run/secrets/collector-password`
CREATE ROLE deniable LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION PASSWORD :'password';
CREATE DATABASE deniable OWNER deniable;
REVOKE ALL ON DATABASE deniable FROM PUBLIC;
