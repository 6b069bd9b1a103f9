// TypeORM: its tables, attached.
//
// Numbers: an entity as it was, generated: 'increment' (@PrimaryGeneratedColumn()),
// goes on working: inserts say DEFAULT, and RETURNING brings the id.  But
// synchronize() would put nextval() back.  Where it is used:
//     @PrimaryColumn({ type: 'int', default: () => "hilo.nextval('orders_id_seq'::regclass)" })
// which also lets save() take an id that is given; before, only insert() does.
//
// Texts:
//     @PrimaryColumn({ type: 'text', default: () => "hilo_next('documents')" })
//
// A bigint comes back as a string, as pg does not trust numbers above 2^53.
'use strict';

const { DataSource, EntitySchema } = require('typeorm');
const { connection, serve } = require('./steps');

function entity(name, id) {
	return new EntitySchema({
		name,
		columns: { id: { ...id, primary: true }, item: { type: 'text' } },
	});
}

const documents = entity('documents', {
	type: 'text',
	default: () => "hilo_next('documents')",
});

// What is there before the tables are attached, and goes on working.
const generated = [
	entity('orders', { type: 'int', generated: 'increment' }),
	entity('lines', { type: 'bigint', generated: 'increment' }),
	documents,
];

// What synchronize() understands.
const attached = [
	entity('orders', { type: 'int', default: () => "hilo.nextval('orders_id_seq'::regclass)" }),
	entity('lines', { type: 'bigint', default: () => "hilo.nextval('lines_id_seq'::regclass)" }),
	documents,
];

let source;

async function connect(entities) {
	await source?.destroy();
	source = await new DataSource({
		...connection,
		type: 'postgres',
		username: connection.user,
		entities,
	}).initialize();
}

async function create() {
	await connect(generated);
	await source.synchronize();
}

serve({
	create,
	attach: (table) => source.query('SELECT hilo.attach($1)', [table]),
	add: (table, rows) => source.getRepository(table).save(rows),
	async give(table, row) {
		await source.getRepository(table).insert(row);
		return [row];
	},
	async synchronize() {
		await connect(attached);
		await source.synchronize();
	},
	async truncate() {
		await connect(attached);
		for (const { options } of attached) {
			await source.getRepository(options.name).clear();
		}
	},
	async drop() {
		await connect(attached);
		await source.dropDatabase();
	},
	load: create,
	close: () => source?.destroy(),
});
