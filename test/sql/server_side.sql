-- Server-side ids: prefix, 19 digits, the node's tag; one counter for all prefixes of a node.

-- The shape.
SELECT id ~ '^companies/[0-9]{19}-A$' AS shape, length(id), hilo_number(id) > 0 AS number FROM next_server_side_id('companies/') id;
SELECT id ~ '^users/1/[0-9]{19}-A$' AS shape FROM next_server_side_id('users/1/') id;
SELECT id ~ '^日本語/[0-9]{19}-A$' AS shape FROM next_server_side_id('日本語/') id;
SELECT hilo_number(next_server_side_id('companies/')) AS before \gset
SELECT next_server_side_id('users/1/') = 'users/1/' || lpad((:before + 1)::text, 19, '0') || '-A' AS exact;
-- Numbers increase whatever the prefix, in the order of text, too.
SELECT hilo_number(next_server_side_id('companies/')) AS before \gset
SELECT i, prefix, hilo_number(next_server_side_id(prefix)) - :before AS number FROM unnest(ARRAY['companies/', 'users/', 'a/', 'companies/', 'users/1/'])
	WITH ORDINALITY p(prefix, i) ORDER BY i;
CREATE TABLE regress_companies (n int GENERATED ALWAYS AS IDENTITY, id text COLLATE "C" DEFAULT next_server_side_id('companies/'));
INSERT INTO regress_companies SELECT FROM generate_series(1, 200);
SELECT count(DISTINCT id), bool_and(id > before) AS increasing FROM (SELECT id, lag(id, 1, '') OVER (ORDER BY n) AS before FROM regress_companies) s;
-- Never back: not by a rollback, nor by an error.
SELECT hilo_number(next_server_side_id('companies/')) AS before \gset
BEGIN;
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
ROLLBACK;
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
SELECT 1 / (hilo_number(next_server_side_id('companies/')) * 0);
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
-- Identities and collections have other counters, whatever their names.
SELECT next_identity('server_side'), hilo_next_number('server_side'), hilo_number(next_server_side_id('server_side/')) - :before AS number;
-- The name decides: the result is neither an identity nor a HiLo id.
SELECT hilo_number(next_server_side_id('server_side/')) - :before AS number, next_identity('server_side/');
SELECT hilo.drop('server_side'), hilo.drop('server_side|');

-- The tag, and none; no server prefix; another separator.
SET hilo.node_tag = 'North_7';
SELECT id ~ '^companies/[0-9]{19}-North_7$' AS shape FROM next_server_side_id('companies/') id;
SET hilo.node_tag = '';
SELECT id ~ '^companies/[0-9]{19}$' AS shape, hilo_number(id) - :before AS number FROM next_server_side_id('companies/') id;
RESET hilo.node_tag;
SET hilo.server_prefix = 'NorthServer/';
SELECT id ~ '^companies/[0-9]{19}-A$' AS shape FROM next_server_side_id('companies/') id;
RESET hilo.server_prefix;
SET hilo.identity_parts_separator = ':';
SELECT id ~ '^users:[0-9]{19}-A$' AS shape, hilo_number(id) - :before AS number FROM next_server_side_id('users:') id;
SELECT id ~ '^users/:[0-9]{19}-A$' AS shape FROM next_server_side_id('users/:') id;
\set VERBOSITY sqlstate
SELECT next_server_side_id('users/');
SET hilo.identity_parts_separator = 'é';
SELECT id ~ '^usersé[0-9]{19}-A$' AS shape FROM next_server_side_id('usersé') id;
RESET hilo.identity_parts_separator;

-- What bad input gets; no number is lost by it.
SELECT hilo_number(next_server_side_id('companies/')) AS before \gset
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$next_server_side_id(NULL)$$, $$next_server_side_id('')$$,
	$$next_server_side_id('companies')$$, $$next_server_side_id('companies|')$$, $$next_server_side_id('companies/|')$$,
	$$next_server_side_id('companies/ ')$$, $$next_server_side_id('/')$$, $$next_server_side_id('com|panies/')$$,
	$$next_server_side_id(E'com\npanies/')$$, $$next_server_side_id(E'companies\x7f/')$$,
	$$next_server_side_id(repeat('x', 256) || '/')$$, $$next_server_side_id(repeat('x', 5000) || '/')$$]) call;
SELECT length(next_server_side_id(repeat('x', 255) || '/'));
BEGIN READ ONLY;
SELECT next_server_side_id('companies/');
ROLLBACK;
SELECT in_worker($$next_server_side_id('companies/')$$);
BEGIN;
CLUSTER hilo.hilo USING hilo_collection_idx;
SELECT next_server_side_id('companies/');
ROLLBACK;
ALTER TABLE hilo.hilo SET WITHOUT CLUSTER;
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
\set VERBOSITY default
SELECT next_server_side_id(NULL);
SELECT next_server_side_id('companies');
-- No collection can have the name of that counter, so nothing moves it but a restore.
SELECT call, state_of('SELECT ' || call) FROM unnest(ARRAY[$$hilo_next_number('|')$$, $$hilo.drop('|')$$, $$hilo.seed('|', 1)$$]) call;
SELECT hilo_number(next_server_side_id('companies/')) AS before \gset
INSERT INTO hilo.hilo (collection, max) VALUES ('|', :before + 100), ('|', 1);
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;

-- Without waiting for the disk, if that is asked for; in another connection.
SET synchronous_commit = off;
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
DROP TABLE regress_companies;
\c -
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
-- The end: 2200H, nothing wraps.  (In a new extension: this counter cannot be set back.)
BEGIN;
DROP EXTENSION hilo CASCADE;
CREATE EXTENSION hilo;
INSERT INTO hilo.hilo (collection, max) VALUES ('|', 9223372036854775806);
SELECT next_server_side_id('companies/');
SELECT prefix, state_of(format('SELECT next_server_side_id(%L)', prefix)) FROM unnest('{companies/,users/}'::text[]) prefix;
ROLLBACK;
SELECT hilo_number(next_server_side_id('companies/')) - :before AS number;
