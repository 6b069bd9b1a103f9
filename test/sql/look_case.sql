-- The look in a column whose collation ignores case, if the server has ICU.
SELECT NOT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AS has_none \gset
\if :has_none
\quit
\endif

CREATE SCHEMA regress_look_case;
SET search_path = regress_look_case, public;
SET client_min_messages = warning;
SET hilo.max_range_size = 1;
SET hilo.range_size = 1;

-- The exact look-up is the column's own.
CREATE COLLATION ignoring_case (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE loud (id text COLLATE ignoring_case PRIMARY KEY, x int);
SELECT hilo.attach('loud');
INSERT INTO loud VALUES ('LOUD/1-a'), ('Loud/2-A'), ('loud/3-A');
INSERT INTO loud (x) VALUES (0) RETURNING id;
-- With the index that orders ids, those in any case count.
CREATE INDEX ON loud (hilo_number(id));
INSERT INTO loud VALUES ('LOUD/6-a');
INSERT INTO loud (x) VALUES (0) RETURNING id;

DROP SCHEMA regress_look_case CASCADE;
SELECT hilo.drop('loud');
