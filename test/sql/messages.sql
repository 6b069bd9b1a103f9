-- Messages: a call that does nothing, or may be a mistake, says so; each hint is a solution, which is tried here.
\set SHOW_CONTEXT never

CREATE SCHEMA regress_messages;
SET search_path = regress_messages, public;

-- A seed that moves nothing; not one that makes the collection, nor with force.
SELECT hilo.seed('msg', 0), hilo.seed('msg', 50);
SELECT hilo.seed('msg', 50);
SELECT hilo.seed('msg', 20);
SELECT hilo.seed('msg', 20, true), hilo.seed('msg', 20, force => true), hilo_next_number('msg');
SELECT seed_identity_for('msg/', 7);
SELECT seed_identity_for('msg|', 3);
SELECT hilo.seed('msg|', 7);
SELECT seed_identity_for('msg', 3, force => true), next_identity('msg');

-- A collection that is made by its options, as by a typing error.
SELECT hilo.configure('mgs', range_size => 4);
SELECT hilo.drop('mgs');
SELECT hilo.configure('mgs|', max_value => 10);
SELECT hilo.drop('mgs|');

-- What does not exist, or no longer exists.
SELECT hilo.drop('mgs');
SELECT hilo.drop('mgs|');

-- A name that a counter of the other kind has.
SELECT hilo_next_number('msg_kind'), next_identity_for('msg_id');
SELECT hilo.drop('msg_id');
SELECT hilo.drop('msg_kind|');
SELECT hilo.drop('msg_id|'), hilo.drop('msg_kind');
SELECT hilo.drop('msg_id');

-- Columns that cannot be bound.
CREATE TABLE msg_table (u uuid, n numeric, t text PRIMARY KEY, l text COLLATE "C");
CREATE VIEW msg_view AS SELECT t FROM msg_table;
SELECT hilo.bind('msg_table', 'msg_table', 'u');
SELECT hilo.bind('msg_table', 'msg_table', 'n');
SELECT hilo.bind('msg_table', 'msg_table', 'none');
SELECT hilo.bind('msg_table', 'msg_view', 't');
SELECT hilo.bind('msg|', 'msg_table', 't');
SELECT hilo.bind('msg_table', 'msg_table', 'l'), hilo.bind('msg_table', 'msg_table', 't');
SELECT hilo.bind('msg_table', 'msg_table', 't');
SELECT schema_name, table_name, column_name FROM hilo.binding WHERE collection = 'msg_table' ORDER BY column_name;
-- A collection with bindings is not dropped; its identity is.
SELECT hilo_next('msg_table'), next_identity('msg_table'), hilo.drop('msg_table|');
SELECT hilo.drop('msg_table');
SELECT hilo.unbind('msg_table'), hilo.drop('msg_table'), hilo.unbind('msg_table');

-- No number that nobody looked for: no table, no key, no index.
SELECT next_identity_free('msg_documents');
CREATE TABLE msg_documents (id text);
INSERT INTO msg_documents VALUES ('msg_documents/1');
SELECT next_identity_free('msg_documents');
SELECT hilo.bind('msg_documents', 'msg_documents', 'id');
SELECT next_identity_free('msg_documents');
SELECT hilo_document_id('msg_documents', 'msg_documents|');
CREATE INDEX ON msg_documents (id);
SELECT next_identity_free('msg_documents'), hilo_document_id('msg_documents', 'msg_documents|');
SELECT hilo.unbind('msg_documents');
CREATE TABLE msg_assigned (id text);
CREATE TRIGGER assign BEFORE INSERT ON msg_assigned FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
INSERT INTO msg_assigned VALUES ('msg_assigned|');
CREATE INDEX ON regress_messages.msg_assigned (id);
INSERT INTO msg_assigned VALUES ('msg_assigned|') RETURNING id;
-- A binding whose column is gone: a warning, once in a session.
CREATE TABLE msg_lost (id text PRIMARY KEY);
SELECT hilo.bind('msg_lost', 'msg_lost', 'id');
ALTER TABLE msg_lost RENAME id TO other;
SELECT hilo_next('msg_lost'), hilo_next('msg_lost');
SELECT hilo.bind('msg_lost', 'msg_lost', 'other');
SELECT column_name FROM hilo.binding WHERE collection = 'msg_lost' ORDER BY 1;
SELECT hilo.unbind('msg_lost');

-- No number was drawn.
SELECT hilo_last_number('msg_drawn');
SELECT hilo_next_number('msg_drawn'), hilo_last_number('msg_drawn');

-- Full.
SELECT hilo.configure('msg_limited', max_value => 5), hilo.seed('msg_limited', 5);
SELECT hilo_next('msg_limited');
SELECT hilo.configure('msg_limited', max_value => 50), hilo_next('msg_limited');
