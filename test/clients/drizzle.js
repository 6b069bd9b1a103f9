// Drizzle: its tables, attached.
//
// Numbers: a table as it was, with serial or generatedByDefaultAsIdentity(), goes on
// working: inserts say DEFAULT, and returning() brings the id.  Where tables are
// pushed, say the default:
//     id: integer('id').primaryKey().default(sql`hilo.nextval('orders_id_seq'::regclass)`)
//
// Texts:
//     id: text('id').primaryKey().default(sql`hilo_next('documents')`)
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { bigint, bigserial, integer, pgTable, serial, text } = require('drizzle-orm/pg-core');
const { drizzle } = require('drizzle-orm/node-postgres');
const { sql } = require('drizzle-orm');
const { pushSchema } = require('drizzle-kit/api');
const { Pool } = require('pg');
const { connection, serve } = require('./steps');

const pool = new Pool(connection);
const db = drizzle(pool);

const item = text('item');
const documents = pgTable('documents', {
	id: text('id').primaryKey().default(sql`hilo_next('documents')`),
	item,
});
const generated = {
	orders: pgTable('orders', { id: serial('id').primaryKey(), item }),
	lines: pgTable('lines', { id: bigserial('id', { mode: 'number' }).primaryKey(), item }),
	documents,
};
const attached = {
	orders: pgTable('orders', {
		id: integer('id').primaryKey().default(sql`hilo.nextval('orders_id_seq'::regclass)`),
		item,
	}),
	lines: pgTable('lines', {
		id: bigint('id', { mode: 'number' }).primaryKey().default(sql`hilo.nextval('lines_id_seq'::regclass)`),
		item,
	}),
	documents,
};

async function push(tables) {
	// It tells its progress on standard output.
	const write = process.stdout.write;
	process.stdout.write = () => true;
	try {
		const { apply } = await pushSchema(tables, db, ['public']);
		await apply();
	} finally {
		process.stdout.write = write;
	}
}

const insert = (table, rows) => db.insert(generated[table]).values(rows).returning();

serve({
	create: () => push(generated),
	attach: (table) => db.execute(sql`SELECT hilo.attach(${table})`),
	add: insert,
	give: (table, row) => insert(table, [row]),
	synchronize: () => push(attached),
	async dump(file) {
		const { host, port, user, database } = connection;
		const folder = `${file}.drizzle`;
		execFileSync('node_modules/.bin/drizzle-kit', ['pull', '--dialect=postgresql', `--out=${folder}`,
			`--url=postgresql://${user}@localhost:${port}/${database}?host=${host}`], { stdio: 'pipe' });
		for (const name of fs.readdirSync(folder).filter((name) => /\.(sql|ts)$/.test(name))) {
			fs.appendFileSync(file, fs.readFileSync(`${folder}/${name}`));
		}
	},
	drop: () => push({}),
	load: () => push(generated),
	close: () => pool.end(),
});
