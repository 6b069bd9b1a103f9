// The commands of Prisma, over its adapter, so that no binary is needed.
const { PrismaPg } = require('@prisma/adapter-pg');
const { Pool } = require('pg');

// The adapter does not know two types of the catalogs: "char" and name.
const known = { 18: 1042, 19: 25 };

class CatalogPool extends Pool {
	async query(...query) {
		const result = await super.query(...query);
		for (const field of result.fields ?? []) {
			field.dataTypeID = known[field.dataTypeID] ?? field.dataTypeID;
		}
		return result;
	}
}

module.exports = {
	experimental: { adapter: true },
	engine: 'js',
	adapter: async () => new PrismaPg(new CatalogPool({
		connectionString: process.env.DATABASE_URL,
		allowExitOnIdle: true,
	})),
};
