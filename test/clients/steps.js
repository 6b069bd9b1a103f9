// What the programs in JavaScript share: commands come in, rows go out.  See
// test/t/HiloTest.pm.
'use strict';

const readline = require('node:readline');

// Where the server is, as all these libraries want to be told.
const connection = {
	host: process.env.PGHOST,
	port: Number(process.env.PGPORT),
	database: process.env.PGDATABASE,
	user: process.env.PGUSER,
};

function show(table, rows) {
	for (const row of rows) {
		console.log([table, row.id, row.item].join('|'));
	}
}

// Insert many in three statements at once, over several connections of a pool.
async function add(client, table, count, item) {
	const rows = Array.from({ length: count }, (_, n) =>
		({ item: count === 1 ? item : `${item} ${n + 1}` }));
	const third = count < 100 ? count : Math.ceil(count / 3);
	const parts = [];
	for (let first = 0; first < count; first += third) {
		parts.push(client.add(table, rows.slice(first, first + third)));
	}
	show(table, (await Promise.all(parts)).flat());
}

// Do each command by the function of its name; add() and give() answer with rows.
async function serve(client) {
	for await (const line of readline.createInterface({ input: process.stdin })) {
		const [name, ...words] = line.split(' ');
		if (name === 'add') {
			await add(client, words[0], Number(words[1]), words.slice(2).join(' '));
		} else if (name === 'give') {
			const [table, id, ...item] = words;
			const given = table === 'documents' ? id : Number(id);
			show(table, await client.give(table, { id: given, item: item.join(' ') }));
		} else {
			await client[name](...words);
		}
		console.log('done');
	}
	await client.close();
}

module.exports = { connection, serve };
