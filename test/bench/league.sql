-- league.sql: the kinds of ids that league.sh compares, each a function league.NAME().
CREATE EXTENSION hilo;
CREATE SCHEMA league;
SET search_path = league, public;

CREATE SEQUENCE plain;
CREATE SEQUENCE cached CACHE 32;
CREATE SEQUENCE attached;
CREATE SEQUENCE counter;

CREATE FUNCTION sequence() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('league.plain') $$;
CREATE FUNCTION cache() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT nextval('league.cached') $$;
CREATE FUNCTION hilo() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT hilo.nextval('league.attached') $$;
CREATE FUNCTION hilo_text() RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT public.hilo_next('ids') $$;

-- Milliseconds of a clock that the setting league.back turns back by so many.
CREATE FUNCTION milliseconds() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint - coalesce(nullif(current_setting('league.back', true), ''), '0')::bigint
$$;

-- UUID version 7: 48 bits of milliseconds, 74 random ones.
CREATE FUNCTION uuid7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT encode(set_byte(overlay(uuid_send(gen_random_uuid()) PLACING substring(int8send(league.milliseconds()) FROM 3) FROM 1 FOR 6),
        6, (get_byte(uuid_send(gen_random_uuid()), 6) & 15) | 112), 'hex')::uuid
$$;

-- Snowflake: 41 bits of milliseconds since 2020, 10 of a node's number, 12 of a counter that all sessions share.
CREATE FUNCTION snowflake() RETURNS bigint LANGUAGE sql VOLATILE AS $$
    SELECT ((league.milliseconds() - 1577836800000) << 22)
        | (coalesce(nullif(current_setting('league.node', true), ''), '1')::bigint << 12) | (nextval('league.counter') % 4096)
$$;
SELECT league.sequence(), league.cache(), league.hilo(), league.hilo_text(), league.uuid7(), league.snowflake();
