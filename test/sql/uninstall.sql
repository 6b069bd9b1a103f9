-- Tables that draw are not lost with the extension: it is dropped only by CASCADE, which takes their defaults and triggers.
\set VERBOSITY terse
CREATE TABLE uninstall_orders (id text COLLATE "C" PRIMARY KEY DEFAULT hilo_next('uninstall_orders'), item text);
CREATE TABLE uninstall_lines (id bigint PRIMARY KEY DEFAULT hilo_next_number('uninstall_lines'), item text);
CREATE TABLE uninstall_users (id text COLLATE "C" PRIMARY KEY, name text);
CREATE TRIGGER assign_id BEFORE INSERT ON uninstall_users FOR EACH ROW EXECUTE FUNCTION hilo.assign_id('id');
CREATE VIEW uninstall_numbers AS SELECT hilo_number(id) FROM uninstall_orders;
INSERT INTO uninstall_orders (item) VALUES ('tea'), ('milk');
INSERT INTO uninstall_lines (item) VALUES ('tea'), ('milk');
INSERT INTO uninstall_users VALUES (NULL, 'Ann'), ('uninstall_users|', 'Cleo');
-- Refused, and nothing has changed.
DROP EXTENSION hilo;
INSERT INTO uninstall_orders (item) VALUES ('honey') RETURNING id;
-- Nor can parts of it be dropped.
DROP FUNCTION hilo_next(text);
DROP TABLE hilo.hilo;
-- With CASCADE the rows stay, and the tables accept more; they just no longer draw.
DROP EXTENSION hilo CASCADE;
SELECT * FROM uninstall_orders;
SELECT * FROM uninstall_lines;
SELECT * FROM uninstall_users;
SELECT * FROM uninstall_numbers;
INSERT INTO uninstall_orders VALUES ('orders/mine', 'salt');
INSERT INTO uninstall_lines VALUES (7, 'salt');
INSERT INTO uninstall_users VALUES ('Users/mine', 'Dan');
UPDATE uninstall_orders SET item = 'cream' WHERE id = 'uninstall_orders/2-A';
INSERT INTO uninstall_orders (item) VALUES ('sugar');
INSERT INTO uninstall_users VALUES (NULL, 'Eve');
-- Created again and seeded from the rows, it continues.
CREATE EXTENSION hilo;
SELECT hilo.seed('uninstall_orders', max(hilo_number(id))) FROM uninstall_orders;
ALTER TABLE uninstall_orders ALTER id SET DEFAULT hilo_next('uninstall_orders');
INSERT INTO uninstall_orders (item) VALUES ('sugar') RETURNING id;
