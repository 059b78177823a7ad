-- What PostgreSQL tells every role of every table, told to the store's owner and monitors alone.
--
-- An analyst's role can read none of the tables, but any role may ask the server how many rows were
-- inserted into each and how large it is: that is, exact crowds of open periods, of which the views
-- tell powers of ten. Run this as a superuser, on the collector's database:
--
--     psql --username postgres --file hide_sizes.sql DATABASE
--
-- It takes the rights from PUBLIC, in this database alone, and gives them to the owner of the
-- schema deniable and to members of pg_read_all_stats, such as pg_monitor. Other roles get
-- "permission denied" for pg_stat_all_tables and its like, \d+ and SELECT * FROM pg_class. Run it
-- again after a restore or a major upgrade. The log's position (pg_current_wal_lsn) and the number
-- of transactions stay visible: they tell how much is going on in the whole server, not what.
BEGIN;
DO $$
DECLARE
    trusted text := (
        SELECT 'pg_read_all_stats, ' || nspowner::regrole FROM pg_namespace
        WHERE nspname = 'deniable'
    );
    called regprocedure;
    harmless text := (
        SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
        WHERE attrelid = 'pg_class'::regclass AND NOT attisdropped
        AND attname NOT IN ('reltuples', 'relpages', 'relallvisible', 'relallfrozen')
    );
BEGIN
    FOR called IN
        SELECT oid FROM pg_proc
        WHERE pronamespace = 'pg_catalog'::regnamespace
        AND (proname ~ '^pg_stat_get_' AND pronargs = 1 AND proargtypes[0] = 'oid'::regtype
            OR proname ~ '^pg_(relation|table|indexes|total_relation|database|tablespace)_size$')
    LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', called);
        EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', called, trusted);
    END LOOP;
    REVOKE SELECT ON pg_class FROM PUBLIC;
    EXECUTE format('GRANT SELECT (%s) ON pg_class TO PUBLIC', harmless);
    EXECUTE format('GRANT SELECT ON pg_class TO %s', trusted);
END
$$;
COMMIT;
