// TypeORM: its tables, attached to collections.
//
// Numbers: an entity as it was, generated: 'increment' (@PrimaryGeneratedColumn()),
// goes on working: inserts say DEFAULT, and RETURNING brings the id.  But
// synchronize() would give the column a sequence again.  Where it is used:
//     @PrimaryColumn({ type: 'int', default: () => "hilo_next_number('orders')" })
// which also lets save() take an id that is given; before, only insert() does.
//
// Texts:
//     @PrimaryColumn({ type: 'text', default: () => "hilo_next('documents')" })
//
// A bigint comes back as a string, as pg does not trust numbers above 2^53.
'use strict';

const { DataSource, EntitySchema } = require('typeorm');

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
	entity('orders', { type: 'int', default: () => "hilo_next_number('orders')" }),
	entity('lines', { type: 'bigint', default: () => "hilo_next_number('lines')" }),
	documents,
];

async function connect(entities) {
	const source = new DataSource({
		type: 'postgres',
		host: process.env.PGHOST,
		port: process.env.PGPORT,
		database: process.env.PGDATABASE,
		username: process.env.PGUSER,
		entities,
	});
	return source.initialize();
}

function show(repository, ...rows) {
	for (const row of rows) {
		console.log([repository.metadata.name, row.id, row.item].join('|'));
	}
}

// An id that nobody has claimed.
function beyond(id) {
	return String(id).replace(/\d+/, (number) => Number(number) + 100);
}

function rows(count) {
	return Array.from({ length: count }, (_, n) => ({ item: `bulk ${n + 1}` }));
}

async function insert(repository) {
	show(repository, await repository.save({ item: 'before' }));
	await repository.query('SELECT hilo_attach($1)', [repository.metadata.name]);

	show(repository, await repository.save({ item: 'single' }));
	const bulk = await repository.save(rows(3));
	show(repository, ...bulk);
	const given = { id: beyond(bulk[2].id), item: 'given' };
	await repository.insert(given);
	show(repository, given);

	// over several connections of the pool
	const bulks = await Promise.all(
		[1, 2, 3].map(() => repository.save(rows(100))));
	show(repository, ...bulks.flat());
}

async function main() {
	let source = await connect(generated);
	await source.synchronize();
	for (const { options } of generated) {
		await insert(source.getRepository(options.name));
	}
	await source.destroy();

	source = await connect(attached);
	await source.synchronize();
	for (const { options } of attached) {
		const repository = source.getRepository(options.name);
		show(repository, await repository.save({ item: 'synchronized' }));
	}
	await source.destroy();
}

main();
