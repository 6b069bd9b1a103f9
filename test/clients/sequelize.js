// Sequelize: its tables, attached, with the same models.
//
// Numbers: a model is as it was.  sync() makes the serial column, hilo.attach()
// keeps its sequence; inserts say DEFAULT, and RETURNING brings the id.
//
// Texts: Sequelize sends what defaultValue says instead of DEFAULT:
//     id: { type: DataTypes.TEXT, primaryKey: true,
//           defaultValue: Sequelize.literal("hilo_next('documents')") }
//
// A bigint comes back as a string, as pg does not trust numbers above 2^53.
'use strict';

const fs = require('node:fs');
const { DataTypes, Sequelize } = require('sequelize');
const { connection, serve } = require('./steps');

const sequelize = new Sequelize({
	...connection,
	dialect: 'postgres',
	username: connection.user,
	logging: false,
	define: { timestamps: false },
});
const queries = sequelize.getQueryInterface();

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

serve({
	create: () => sequelize.sync(),
	attach: (table) => sequelize.query('SELECT hilo.attach(:table)', { replacements: { table } }),
	add: async (table, rows) => rows.length > 1
		? models[table].bulkCreate(rows) : [await models[table].create(rows[0])],
	give: async (table, row) => [await models[table].create(row)],
	synchronize: () => sequelize.sync({ alter: true }),

	async truncate() {
		const tables = await queries.showAllTables();
		await sequelize.query(`TRUNCATE ${tables.join(', ')} RESTART IDENTITY CASCADE`);
	},
	async dump(file) {
		for (const table of await queries.showAllTables()) {
			fs.appendFileSync(file, table + JSON.stringify(await queries.describeTable(table)) + '\n');
		}
	},
	drop: () => queries.dropAllTables(),
	load: () => sequelize.sync({ force: true }),
	close: () => sequelize.close(),
});
