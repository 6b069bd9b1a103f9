// Prisma, with its adapter for pg: its tables, attached.
//
// Numbers: a model as it was, with autoincrement(), goes on working: inserts leave the
// column out, and RETURNING brings the id.  Where "prisma db push" or "migrate dev" is
// used, say the default:
//     id Int @id @default(dbgenerated("hilo.nextval('orders_id_seq'::regclass)"))
//
// Texts:
//     id String @id @default(dbgenerated("hilo_next('documents'::text)"))
//
// The default is written as PostgreSQL shows it.  "migrate reset" and "db push
// --force-reset" drop the schema public, and an extension that is there with it.
'use strict';

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { connection, serve } = require('./steps');

const { host, port, user, database } = connection;
const url = `postgresql://${user}@localhost:${port}/${database}?host=${host}`;

// Commands neither look for updates nor fetch binaries, which they do not need.
const environment = {
	...process.env,
	CHECKPOINT_DISABLE: '1',
	DATABASE_URL: url,
	NODE_OPTIONS: '-r ./prisma/prompt_end.js',
	PRISMA_QUERY_ENGINE_LIBRARY: '/bin/true',
	PRISMA_SCHEMA_ENGINE_BINARY: '/bin/true',
};

function command(schema, ...words) {
	return execFileSync('node_modules/.bin/prisma',
		[...words, '--config=prisma/prisma.config.ts', `--schema=prisma/${schema}.prisma`],
		{ env: environment, stdio: ['ignore', 'pipe', 'pipe'], encoding: 'utf8' });
}

const push = (schema) => command(schema, 'db', 'push', '--skip-generate', '--accept-data-loss');

let client;

function prisma() {
	if (!client) {
		if (!fs.existsSync('prisma/client')) {
			command('schema', 'generate');
		}
		const { PrismaClient } = require('./prisma/client');
		const { PrismaPg } = require('@prisma/adapter-pg');
		client = new PrismaClient({ adapter: new PrismaPg(connection) });
	}
	return client;
}

serve({
	create: () => push('schema'),
	attach: (table) => prisma().$queryRaw`SELECT hilo.attach(${table}::text::regclass)`,
	add: async (table, rows) => rows.length > 1
		? prisma()[table].createManyAndReturn({ data: rows })
		: [await prisma()[table].create({ data: rows[0] })],
	give: async (table, row) => [await prisma()[table].create({ data: row })],
	synchronize: () => push('attached'),
	dump(file) {
		fs.writeFileSync(file, command('empty', 'db', 'pull', '--print'));
	},
	drop: () => push('empty'),
	load: () => push('schema'),
	close: () => client?.$disconnect(),
});
