// Kysely: tables that are attached.  Inserts leave the column out, and
// returning('id') brings the id, for numbers and texts alike.
'use strict';

const fs = require('node:fs');
const { Kysely, PostgresDialect, sql } = require('kysely');
const { Pool } = require('pg');
const { connection, serve } = require('./steps');

const db = new Kysely({
	dialect: new PostgresDialect({ pool: new Pool(connection) }),
});

async function create() {
	for (const [table, type] of [['orders', 'serial'], ['lines', 'bigserial'], ['documents', 'text']]) {
		await db.schema.createTable(table)
			.addColumn('id', type, (column) => column.primaryKey())
			.addColumn('item', 'text').execute();
	}
}

const insert = (table, rows) =>
	db.insertInto(table).values(rows).returning(['id', 'item']).execute();

// It sees all schemas, that of hilo among them, and views.
async function tables() {
	return (await db.introspection.getTables())
		.filter(({ schema, isView }) => schema === 'public' && !isView);
}

serve({
	create,
	attach: (table) => sql`SELECT hilo.attach(${table})`.execute(db),
	add: insert,
	give: insert,

	async truncate() {
		for (const { schema, name } of await tables()) {
			await sql`TRUNCATE ${sql.table(`${schema}.${name}`)} RESTART IDENTITY CASCADE`.execute(db);
		}
	},
	async dump(file) {
		fs.writeFileSync(file, JSON.stringify(await tables(), null, 1));
	},
	async drop() {
		for (const { schema, name } of await tables()) {
			await db.schema.withSchema(schema).dropTable(name).cascade().execute();
		}
	},
	load: create,
	close: () => db.destroy(),
});
