// RavenDB's client, whose ids come from the bridge.  Prints a line for each step:
// its name, and the ids or numbers that it gives.  (5.4.3 is the newest version that
// all supported ones of Node.js run; 7.2.6 gives the same.)
'use strict';

const {
	DocumentStore, GetIdentitiesOperation, NextIdentityForOperation, PutCommandDataBase,
	SeedIdentityForOperation,
} = require('ravendb');
const bridge = require('./bridge.js');

class Order { constructor(n) { this.n = n; } }
class User { constructor(n) { this.n = n; } }
class Product { constructor(n) { this.n = n; } }
class Company { constructor(n) { this.n = n; } }
class Person { constructor(n) { this.n = n; } }
class Article { constructor(n) { this.n = n; } }
class Song { constructor(n) { this.n = n; } }
class Book { constructor(n) { this.n = n; } }

let url;

function open() {
	return new DocumentStore(url, 'shop').initialize();
}

function show(step, ...values) {
	console.log([step, ...values].join('|'));
}

// Store documents in a session of their own; their ids, as the session knows them.
async function save(store, documents, id) {
	const session = store.openSession();
	for (const document of documents) {
		await (id === undefined ? session.store(document) : session.store(document, id));
	}
	await session.saveChanges();
	return documents.map((document) => session.advanced.getDocumentId(document));
}

function some(type, count) {
	return Array.from({ length: count }, (_, n) => new type(n + 1));
}

async function kinds(store) {
	show('hilo', ...await save(store, some(Order, 3)));
	show('server-side', ...await save(store, some(Company, 1), 'companies/'));
	show('server-side, nested', ...await save(store, some(Company, 1), 'companies/1/'));
	show('identity', ...await save(store, some(Company, 1), 'companies|'));
	show('semantic', ...await save(store, some(Company, 1), 'companies/acme'));

	// By a command: a session takes an empty id for none, and never learns of a GUID.
	const session = store.openSession();
	session.advanced.defer(new PutCommandDataBase('', null, null, { kind: 'guid' }));
	await session.saveChanges();
}

async function identities(store) {
	const { maintenance } = store;

	show('next identity', await maintenance.send(new NextIdentityForOperation('companies|')));
	show('after it', ...await save(store, some(Company, 1), 'companies|'));
	show('seeded', await maintenance.send(new SeedIdentityForOperation('companies|', 23)));
	show('after the seed', ...await save(store, some(Company, 1), 'companies|'));
	show('seeded lower', await maintenance.send(new SeedIdentityForOperation('companies|', 10)));
	show('forced', await maintenance.send(new SeedIdentityForOperation('companies|', 5, true)));
	show('after the force', ...await save(store, some(Company, 1), 'companies|'));
	show('without a bar', await maintenance.send(new NextIdentityForOperation('companies')));
	show('all', JSON.stringify(await maintenance.send(new GetIdentitiesOperation())));
}

// Ten documents, a store that is closed, and a new one; then one that is lost.
async function again() {
	for (const step of ['first store', 'second store']) {
		const store = open();
		show(step, ...await save(store, some(User, 10)));
		await new Promise((resolve) => {
			store.once('afterDispose', (done) => { done(); resolve(); });
			store.dispose();
		});
	}
	const store = open();
	show('third store', ...await save(store, some(User, 1)));
}

// What the client's own tests of HiLo documents do.
async function putMax(store, collection, max) {
	const session = store.openSession();
	await session.store({ Max: max }, `Raven/Hilo/${collection}`);
	await session.saveChanges();
}

async function getMax(store, collection) {
	return (await store.openSession().load(`Raven/Hilo/${collection}`)).Max;
}

async function generate(store, type, count) {
	const ids = [];
	for (let n = 0; n < count; n++) {
		ids.push(await store.conventions.generateDocumentId('shop', new type(n)));
	}
	return ids;
}

async function hiloDocuments() {
	// hiloCanNotGoDown
	let store = open();
	await putMax(store, 'people', 32);
	const ids = await generate(store, Person, 1);
	await putMax(store, 'people', 12);
	show('cannot go down', ...ids, ...await generate(store, Person, 128));

	// multipleHiLo
	store = open();
	await putMax(store, 'articles', 64);
	await putMax(store, 'songs', 128);
	show('two documents', ...await generate(store, Article, 1), ...await generate(store, Song, 1));

	// capacityShouldDouble
	await generate(store, Article, 31);
	show('used up', await getMax(store, 'articles'));
	await generate(store, Article, 1);
	show('doubled', await getMax(store, 'articles'));

	// returnUnusedRangeOnClose
	store = open();
	await putMax(store, 'books', 32);
	await save(store, some(Book, 2));
	await new Promise((resolve) => {
		store.once('afterDispose', (done) => { done(); resolve(); });
		store.dispose();
	});
	show('returned', await getMax(open(), 'books'));
}

async function parallel(store) {
	show('parallel', ...(await Promise.all(some(Product, 400).map((document) => save(store, [document])))).flat());
}

// Two stores, one of which stores a hundred documents for each of the other.
async function speeds(fast, slow) {
	const ids = { fast: [], slow: [] };

	for (let round = 0; round < 5; round++) {
		ids.slow.push(...await save(slow, some(Order, 1)));
		ids.fast.push(...await save(fast, some(Order, 100)));
	}
	show('slow', ...ids.slow);
	show('fast', ...ids.fast);
}

async function main() {
	const server = await bridge.start();
	url = server.url;

	const store = open();
	await kinds(store);
	await identities(store);
	await again();
	await hiloDocuments();
	await parallel(store);
	await speeds(open(), open());
	show('imported', ...await save(store, some(User, 1), 'members|'));
	show('before failover', ...await save(store, some(Song, 3)));
	await new Promise((resolve) => process.stdin.once('data', resolve));
	show('after failover', ...await save(store, some(Song, 100)));
	show('identity after failover', ...await save(store, some(User, 1), 'members|'));
	await server.stop();
	process.exit(0);
}

main().catch((error) => {
	console.error(error);
	process.exit(1);
});
