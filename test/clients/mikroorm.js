// MikroORM: its tables, attached.
//
// Numbers: an entity as it was, with autoincrement, goes on working: inserts leave the
// column out, and RETURNING brings the id.  Where updateSchema() is used, say the default:
//     @PrimaryKey({ type: 'integer', autoincrement: false, defaultRaw: "hilo.nextval('orders_id_seq'::regclass)" })
//
// Texts:
//     @PrimaryKey({ type: 'text', defaultRaw: "hilo_next('documents'::text)" })
//
// The default is written as PostgreSQL shows it: updateSchema() compares the texts.
'use strict';

const fs = require('node:fs');
const { EntitySchema, MikroORM } = require('@mikro-orm/postgresql');
const { connection, serve } = require('./steps');

function entity(name, id) {
	return new EntitySchema({
		name,
		tableName: name,
		properties: { id: { ...id, primary: true }, item: { type: 'text' } },
	});
}

const documents = entity('documents', { type: 'text', defaultRaw: "hilo_next('documents'::text)" });

// What is there before the tables are attached, and goes on working.
const generated = [
	entity('orders', { type: 'integer', autoincrement: true }),
	entity('lines', { type: 'bigint', autoincrement: true }),
	documents,
];

// What updateSchema() understands.
const attached = [
	entity('orders', { type: 'integer', autoincrement: false, defaultRaw: "hilo.nextval('orders_id_seq'::regclass)" }),
	entity('lines', { type: 'bigint', autoincrement: false, defaultRaw: "hilo.nextval('lines_id_seq'::regclass)" }),
	documents,
];

let orm;

async function connect(entities) {
	await orm?.close();
	orm = await MikroORM.init({
		host: connection.host,
		port: connection.port,
		dbName: connection.database,
		user: connection.user,
		entities,
		// A superuser would drop all schemas that have no entity.
		schemaGenerator: { ignoreSchema: ['hilo'] },
		discovery: { warnWhenNoEntities: false },
	});
}

async function create() {
	await connect(generated);
	await orm.schema.createSchema();
}

async function insert(table, rows) {
	const em = orm.em.fork();
	const entities = rows.map((row) => em.create(table, row));
	await em.persistAndFlush(entities);
	return entities;
}

serve({
	create,
	attach: (table) => orm.em.getConnection().execute('SELECT hilo.attach(?)', [table]),
	add: insert,
	give: (table, row) => insert(table, [row]),
	async synchronize() {
		await connect(attached);
		await orm.schema.updateSchema();
	},
	async truncate() {
		await connect(attached);
		// TRUNCATE takes a superuser here, who may do without foreign keys for a while.
		await orm.schema.clearDatabase({ truncate: connection.user !== connection.database });
	},
	// What it would drop, and make again, if no entity were left.
	async dump(file) {
		await connect([]);
		const { up, down } = await orm.schema.getUpdateSchemaMigrationSQL({ wrap: false });
		fs.writeFileSync(file, up + down);
		await connect(attached);
	},
	async drop() {
		await connect([]);
		await orm.schema.updateSchema();
	},
	load: create,
	close: () => orm?.close(),
});
