// Sequelize: its tables, attached to collections, with the same models.
//
// Numbers: a model is as it was.  sync() makes the serial column, hilo_attach()
// replaces its sequence; inserts say DEFAULT, and RETURNING brings the id.
//
// Texts: Sequelize sends what defaultValue says instead of DEFAULT:
//     id: { type: DataTypes.TEXT, primaryKey: true,
//           defaultValue: Sequelize.literal("hilo_next('documents')") }
//
// A bigint comes back as a string, as pg does not trust numbers above 2^53.
'use strict';

const { DataTypes, Sequelize } = require('sequelize');

const sequelize = new Sequelize({
	dialect: 'postgres',
	host: process.env.PGHOST,
	port: process.env.PGPORT,
	database: process.env.PGDATABASE,
	username: process.env.PGUSER,
	logging: false,
	define: { timestamps: false },
});

const item = { type: DataTypes.TEXT, allowNull: false };
const models = {
	orders: sequelize.define('orders', {
		id: { type: DataTypes.INTEGER, primaryKey: true, autoIncrement: true },
		item,
	}),
	lines: sequelize.define('lines', {
		id: { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true },
		item,
	}),
	documents: sequelize.define('documents', {
		id: {
			type: DataTypes.TEXT,
			primaryKey: true,
			defaultValue: Sequelize.literal("hilo_next('documents')"),
		},
		item,
	}),
};

function show(...rows) {
	for (const row of rows) {
		console.log([row.constructor.name, row.id, row.item].join('|'));
	}
}

// An id that nobody has claimed.
function beyond(id) {
	return String(id).replace(/\d+/, (number) => Number(number) + 100);
}

function rows(count) {
	return Array.from({ length: count }, (_, n) => ({ item: `bulk ${n + 1}` }));
}

async function insert(model) {
	show(await model.create({ item: 'before' }));
	await sequelize.query('SELECT hilo_attach(:table)', {
		replacements: { table: model.name },
	});

	show(await model.create({ item: 'single' }));
	const bulk = await model.bulkCreate(rows(3));
	show(...bulk);
	show(await model.create({ id: beyond(bulk[2].id), item: 'given' }));

	// over several connections of the pool
	const bulks = await Promise.all(
		[1, 2, 3].map(() => model.bulkCreate(rows(100))));
	show(...bulks.flat());
}

async function main() {
	await sequelize.sync();
	for (const model of Object.values(models)) {
		await insert(model);
	}
	await sequelize.sync({ alter: true });
	for (const model of Object.values(models)) {
		show(await model.create({ item: 'synchronized' }));
	}
	await sequelize.close();
}

main();
