-- An identity that a row requests is one that no row of its table has, and that hilo_document_id() gives is one that no bound document has: found at the first try. next_identity() stays the plain draw.


-- Imported documents: the next gap is used.
CREATE TABLE users (id text PRIMARY KEY, n int);
CREATE TRIGGER assign BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO users SELECT 'users/' || i, i FROM generate_series(1, 500) i;
INSERT INTO users VALUES ('users|'), ('users|') RETURNING id;
SELECT value FROM hilo.identities WHERE name = 'users';
-- A plain draw does not look at documents.
SELECT seed_identity_for('users', 10, true), next_identity('users'), next_identity_for('users');
INSERT INTO users VALUES ('users|') RETURNING id;
-- {1, 2, 4} are taken: 3, then 5.
TRUNCATE users;
SELECT hilo.drop('users|');
INSERT INTO users VALUES ('users/1'), ('users/2'), ('users/4');
INSERT INTO users VALUES ('users|'), ('users|') RETURNING id;
-- In one statement with ids given by hand, before and after; in one transaction with rows that were deleted again.
INSERT INTO users VALUES ('users/6'), ('users|'), ('users/8'), ('users|'), ('users/10'), (NULL), ('users/x'), ('users|') RETURNING id;
BEGIN;
INSERT INTO users VALUES ('users/12'), ('users/13'), ('users/14');
DELETE FROM users WHERE id = 'users/13';
UPDATE users SET id = 'users/15' WHERE id = 'users/14';
INSERT INTO users VALUES ('users|'), ('users|'), ('users|') RETURNING id;
SAVEPOINT s;
INSERT INTO users VALUES ('users/17');
ROLLBACK TO s;
INSERT INTO users VALUES ('users|') RETURNING id;
ROLLBACK;
-- Every length of a contiguous block, from some starts: the smallest free number.
CREATE FUNCTION after_block(start int, size int) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	DELETE FROM users;
	INSERT INTO users SELECT 'users/' || start + i FROM generate_series(1, size) i;
	PERFORM seed_identity_for('users', start, true);
	INSERT INTO users VALUES ('users|') RETURNING id INTO result;
	RETURN hilo_number(result);
END $$;
SELECT start, count(*), count(*) FILTER (WHERE after_block(start, size) <> start + size + 1) AS not_smallest FROM unnest(ARRAY[0, 7, 1000]) start, generate_series(0, 70) size GROUP BY 1 ORDER BY 1;
-- COPY, ON CONFLICT, INSERT ... SELECT.
TRUNCATE users;
SELECT seed_identity_for('users', 0, true);
INSERT INTO users SELECT 'users/' || i FROM generate_series(1, 5) i;
COPY users (id) FROM stdin;
users|
users/8
users|
users|
\.
SELECT id FROM users WHERE hilo_number(id) > 5 ORDER BY hilo_number(id);
SELECT seed_identity_for('users', 0, true);
INSERT INTO users VALUES ('users|', 1) ON CONFLICT (id) DO UPDATE SET n = -1 RETURNING id, n;
INSERT INTO users SELECT 'users|' FROM generate_series(1, 3) RETURNING id;
INSERT INTO users (id) VALUES ('users|');
SELECT max(hilo_number(id)) FROM users;
-- Another identity than the table's: its ids in this column count; what is in a table of its name does not.
CREATE TABLE companies (id text PRIMARY KEY);
INSERT INTO companies VALUES ('companies/1'), ('companies/2'), ('companies/3');
INSERT INTO users VALUES ('companies/1');
INSERT INTO users VALUES ('companies|'), ('companies|') RETURNING id;
-- Nor does the column that the identity is bound to.
SELECT hilo.bind('companies', 'companies', 'id'), seed_identity_for('companies', 0, true);
INSERT INTO users VALUES ('companies|') RETURNING id;
-- HiLo ids and server-side ids look alike, but do not count.
INSERT INTO users VALUES ('users/15-A'), ('users/0000000000000000015-A'), ('USERS/15'), ('users/15 '), ('users/015');
SELECT seed_identity_for('users', 14, true);
INSERT INTO users VALUES ('users|') RETURNING id;
-- Another separator.
SET hilo.identity_parts_separator = ':';
INSERT INTO users VALUES ('users:16'), ('users/17');
INSERT INTO users VALUES ('users|'), ('users|') RETURNING id;
RESET hilo.identity_parts_separator;
-- The search_path plays no part.
SET search_path = pg_catalog;
SELECT public.seed_identity_for('users', 0, true);
INSERT INTO public.users VALUES ('users|') RETURNING id;
RESET search_path;

-- hilo_document_id(): where the name is bound.
SELECT seed_identity_for('users', 0, true), hilo_document_id('users', 'users|');
SELECT hilo.bind('users', 'users', 'id');
SELECT hilo_document_id('users', 'users|'), hilo_document_id('other', 'users|'), next_identity('users');
SELECT hilo.unbind('users'), seed_identity_for('companies', 0, true), hilo_document_id('users', 'companies|');
SELECT hilo.unbind('companies'), seed_identity_for('companies', 0, true), hilo_document_id('users', 'companies|');
-- Not to a view; to a column of numbers, with its end.
CREATE VIEW many AS SELECT i AS id FROM generate_series(1, 5000) i;
SELECT hilo.bind('many', 'many', 'id');
CREATE TABLE small (id smallint PRIMARY KEY);
INSERT INTO small SELECT i FROM generate_series(1, 32766) i;
SELECT hilo.bind('small', 'small', 'id'), hilo.configure('small|', max_value => 32767);
SELECT hilo_document_id('users', 'small|');
INSERT INTO small VALUES (32767);
SELECT seed_identity_for('small', 32700, true);
\set VERBOSITY sqlstate
SELECT hilo_document_id('users', 'small|');
SELECT hilo_document_id('users', 'small|');
\set VERBOSITY default
SELECT hilo.configure('small|', reset => true);
-- The documents no longer exist: the same error as of next_identity_free().
DROP TABLE small;
SELECT hilo_document_id('users', 'small|');
SELECT next_identity('small|');
SELECT hilo.unbind('small'), hilo_document_id('users', 'small|');
-- Without the index that it was bound with: no number that nobody looked for.
CREATE TABLE bare (id text);
CREATE INDEX bare_index ON bare (id);
INSERT INTO bare VALUES ('bare/1'), ('bare/2');
SELECT hilo.bind('bare', 'bare', 'id'), hilo_document_id('users', 'bare|');
DROP INDEX bare_index;
SELECT seed_identity_for('bare', 0, true), hilo_document_id('users', 'bare|');
-- A collection of text ids that is bound has an identity whose ids are there, too.
CREATE TABLE books (id text PRIMARY KEY);
INSERT INTO books VALUES ('books/1'), ('books/2'), ('books/3-A');
SELECT hilo.bind('books', 'books', 'id');
SELECT hilo_document_id('books', 'books|'), next_identity_free('books'), hilo_document_id('books'), hilo_document_id('books');
INSERT INTO books VALUES (hilo_document_id('books'));
INSERT INTO books VALUES (hilo_document_id('books')) RETURNING id;
SELECT hilo.unbind('books');

-- With an index that can be used, because the column comes first, and all rows are in it.
CREATE DOMAIN doc_id AS varchar(30);
CREATE PROCEDURE with_index(type text, index text) LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('CREATE TABLE indexed (more int DEFAULT 1, id %s)', type);
	EXECUTE index;
	CREATE TRIGGER assign BEFORE INSERT ON indexed FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
	INSERT INTO indexed (id) VALUES ('indexed/1'), ('indexed/2');
	PERFORM seed_identity_for('indexed', 0, true);
	COMMIT;
	BEGIN
		INSERT INTO indexed (id) VALUES ('indexed|') RETURNING id INTO result;
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		result := SQLSTATE;
	END;
	RAISE NOTICE '%: % %', result, type, index;
	DROP TABLE indexed;
END $$;
CALL with_index('text', 'CREATE UNIQUE INDEX ON indexed (id)');
CALL with_index('text', 'ALTER TABLE indexed ADD PRIMARY KEY (id, more)');
CALL with_index('text', 'CREATE INDEX ON indexed (id text_pattern_ops)');
CALL with_index('text', 'CREATE UNIQUE INDEX ON indexed (id DESC NULLS FIRST) INCLUDE (more)');
CALL with_index('text COLLATE "C"', 'CREATE UNIQUE INDEX ON indexed (id COLLATE "POSIX")');
CALL with_index('varchar(20)', 'CREATE UNIQUE INDEX ON indexed (id)');
CALL with_index('doc_id', 'CREATE UNIQUE INDEX ON indexed (id)');
-- Without one: no number that nobody looked for.
CALL with_index('text', 'SELECT');
CALL with_index('text', 'CREATE INDEX ON indexed (more, id)');
CALL with_index('text', 'CREATE INDEX ON indexed (id) WHERE id <> ''''');
CALL with_index('text', 'CREATE INDEX ON indexed (lower(id))');
CALL with_index('text', 'CREATE INDEX ON indexed USING hash (id)');
-- Ids of all tenants count.
CREATE TABLE tenants (tenant int, id text, PRIMARY KEY (id, tenant));
CREATE TRIGGER assign BEFORE INSERT ON tenants FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO tenants VALUES (1, 'tenants/1'), (2, 'tenants/2');
INSERT INTO tenants VALUES (1, 'tenants|') RETURNING id;
-- Partitioned by the id itself: assigned in the statement, not by a trigger.
CREATE TABLE by_id (id text PRIMARY KEY) PARTITION BY LIST (id);
CREATE TABLE by_id_one PARTITION OF by_id FOR VALUES IN ('by_id|', 'by_id/1');
CREATE TABLE by_id_rest PARTITION OF by_id DEFAULT;
CREATE TRIGGER assign BEFORE INSERT ON by_id FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO by_id VALUES ('by_id|') RETURNING id;
INSERT INTO by_id VALUES ('by_id|') RETURNING id;
INSERT INTO by_id VALUES (hilo_document_id('by_id', 'by_id|')) RETURNING id;
-- An index that is not valid.
CREATE TABLE twice (id text);
INSERT INTO twice VALUES ('twice/1'), ('twice/1');
CREATE TRIGGER assign BEFORE INSERT ON twice FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
\set VERBOSITY sqlstate
CREATE UNIQUE INDEX CONCURRENTLY twice_index ON twice (id);
\set VERBOSITY default
SELECT indisvalid FROM pg_index WHERE indexrelid = 'twice_index'::regclass;
DELETE FROM twice WHERE ctid = '(0,1)';
INSERT INTO twice VALUES ('twice/2'), ('twice|') RETURNING id;
REINDEX INDEX twice_index;
INSERT INTO twice VALUES ('twice/2'), ('twice|') RETURNING id;

-- Partitions: the ids of all of them count, whichever is inserted into.
CREATE TABLE loans (year int, id text, PRIMARY KEY (id, year)) PARTITION BY RANGE (year);
CREATE TABLE loans_2025 PARTITION OF loans FOR VALUES FROM (2025) TO (2026);
CREATE TABLE loans_later PARTITION OF loans FOR VALUES FROM (2026) TO (2100) PARTITION BY LIST (year);
CREATE TABLE loans_2026 (dropped int, id text NOT NULL, year int NOT NULL);
ALTER TABLE loans_2026 DROP COLUMN dropped;
ALTER TABLE loans_later ATTACH PARTITION loans_2026 FOR VALUES IN (2026);
CREATE TRIGGER assign BEFORE INSERT ON loans FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO loans VALUES (2025, 'loans/1'), (2025, 'loans/2'), (2026, 'loans/3'), (2026, 'loans/5');
INSERT INTO loans VALUES (2025, 'loans|'), (2026, 'loans|') RETURNING tableoid::regclass, id;
SELECT seed_identity_for('loans', 0, true);
INSERT INTO loans_2026 VALUES ('loans|', 2026) RETURNING id;
SELECT seed_identity_for('loans', 0, true);
INSERT INTO loans_2025 VALUES (2025, 'loans|') RETURNING id;
SELECT seed_identity_for('loans', 0, true);
INSERT INTO loans_later VALUES (2026, 'loans|') RETURNING id;
-- A detached partition.
ALTER TABLE loans DETACH PARTITION loans_2025;
CREATE TRIGGER assign BEFORE INSERT ON loans_2025 FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'loans');
SELECT seed_identity_for('loans', 0, true);
INSERT INTO loans_2025 VALUES (2025, 'loans|') RETURNING id;
-- Partitions with indexes of their own.
CREATE TABLE rooms (floor int, id text) PARTITION BY LIST (floor);
CREATE TABLE rooms_1 PARTITION OF rooms (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE TABLE rooms_2 PARTITION OF rooms FOR VALUES IN (2);
CREATE INDEX ON rooms_2 (id, floor);
CREATE TRIGGER assign BEFORE INSERT ON rooms FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO rooms VALUES (1, 'rooms/1'), (2, 'rooms/2'), (1, 'rooms/3');
INSERT INTO rooms VALUES (2, 'rooms|'), (1, 'rooms|'), (1, 'rooms|') RETURNING id;
-- Children count for their parent, not the other way round.
CREATE TABLE people (id text PRIMARY KEY);
CREATE TABLE readers (PRIMARY KEY (id)) INHERITS (people);
CREATE TRIGGER assign BEFORE INSERT ON people FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
CREATE TRIGGER assign BEFORE INSERT ON readers FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'people');
INSERT INTO readers VALUES ('people/1');
INSERT INTO people VALUES ('people|'), ('people/3') RETURNING id;
INSERT INTO readers VALUES ('people|'), ('people|') RETURNING id;
-- Temporary tables, with the name of another one.
CREATE TEMPORARY TABLE users (id text PRIMARY KEY);
CREATE TRIGGER assign BEFORE INSERT ON pg_temp.users FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
SELECT seed_identity_for('users', 0, true);
INSERT INTO pg_temp.users VALUES ('users/1'), ('users|') RETURNING id;
INSERT INTO public.users VALUES ('users|') RETURNING id;
DROP TABLE pg_temp.users;

-- Nothing but INSERT is needed, and row security hides nothing; also through a view.
CREATE ROLE regress_hilo_clerk;
CREATE TABLE desks (id text PRIMARY KEY);
CREATE TRIGGER assign BEFORE INSERT ON desks FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO desks VALUES ('desks/1'), ('desks/2');
ALTER TABLE desks ENABLE ROW LEVEL SECURITY;
CREATE POLICY insert ON desks FOR INSERT WITH CHECK (true);
CREATE VIEW desks_view AS SELECT id FROM desks;
GRANT INSERT ON desks TO regress_hilo_clerk;
SET ROLE regress_hilo_clerk;
INSERT INTO desks VALUES ('desks|');
RESET ROLE;
REVOKE INSERT ON desks FROM regress_hilo_clerk;
GRANT INSERT, SELECT ON desks_view TO regress_hilo_clerk;
SELECT seed_identity_for('desks', 0, true);
SELECT as_role('regress_hilo_clerk', $$INSERT INTO desks_view VALUES ('desks|') RETURNING id$$);
SELECT id FROM desks ORDER BY id;
-- A role's own table moves other roles' identities by 1048576 at most, however small ranges are, unless its owner may seed, or it is bound.
SET hilo.max_range_size = 1;
CREATE SCHEMA regress_clerk AUTHORIZATION regress_hilo_clerk;
SET ROLE regress_hilo_clerk;
CREATE TABLE regress_clerk.far (id text PRIMARY KEY);
INSERT INTO regress_clerk.far SELECT 'far/' || n FROM generate_series(1, 1048576) n;
CREATE TRIGGER assign BEFORE INSERT ON regress_clerk.far FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id', 'far');
INSERT INTO regress_clerk.far VALUES ('far|') RETURNING id;
RESET ROLE;
SELECT seed_identity_for('far', 0, true);
SELECT as_role('regress_hilo_clerk', $$INSERT INTO regress_clerk.far VALUES ('far|') RETURNING id$$);
SELECT value FROM hilo.identities WHERE name = 'far';
SELECT hilo.bind('far', 'regress_clerk.far', 'id'), seed_identity_for('far', 0, true);
SELECT as_role('regress_hilo_clerk', $$INSERT INTO regress_clerk.far VALUES ('far|') RETURNING id$$);
SELECT hilo.unbind('far'), seed_identity_for('far', 0, true);
ALTER TABLE regress_clerk.far OWNER TO CURRENT_USER;
GRANT INSERT, SELECT ON regress_clerk.far TO regress_hilo_clerk;
SELECT as_role('regress_hilo_clerk', $$INSERT INTO regress_clerk.far VALUES ('far|') RETURNING id$$);
RESET hilo.max_range_size;
DROP OWNED BY regress_hilo_clerk CASCADE;
DROP ROLE regress_hilo_clerk;

-- The end of the numbers: an error, nothing wrapped.
SELECT seed_identity_for('users', 9223372036854775806, true);
INSERT INTO users VALUES ('users/9223372036854775807');
\set VERBOSITY sqlstate
INSERT INTO users VALUES ('users|');
INSERT INTO users VALUES ('users|');
\set VERBOSITY default
