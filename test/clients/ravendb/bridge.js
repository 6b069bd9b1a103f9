// A bridge from RavenDB's protocol to a database with hilo: what its clients ask
// of identifiers, and documents that are stored.  Each request is one statement.
'use strict';

const http = require('http');
const { Pool, types } = require('pg');

// The client counts in JavaScript's numbers, too.
types.setTypeParser(types.builtins.INT8, Number);

// A document Raven/Hilo/users is the counter of users, whose max it sets; it is stored nowhere else.
const STORE = `
	WITH commands AS (
		SELECT "Id" AS id, "Document" AS document FROM jsonb_to_recordset($1) AS c("Id" text, "Document" jsonb)),
	stored AS (
		INSERT INTO documents SELECT id, document FROM commands WHERE id IS NULL OR id NOT ILIKE 'Raven/Hilo/%'
		RETURNING id, document->'@metadata'->>'@collection' AS collection, 'A:' || xmin AS version)
	SELECT 'PUT' AS "Type", id AS "@id", collection AS "@collection", version AS "@change-vector", $2::text AS "@last-modified" FROM stored
	UNION ALL
	SELECT 'PUT', id, '@hilo', 'A:' || hilo.seed(substr(id, 12), (document->>'Max')::bigint, true), $2
	FROM commands WHERE id ILIKE 'Raven/Hilo/%'`;

const LOAD = `
	SELECT jsonb_build_object('Max', max, '@metadata', jsonb_build_object('@id', $1::text, '@collection', '@hilo', '@change-vector', 'A:' || max)) AS document
	FROM hilo.hilo WHERE $1 ILIKE 'Raven/Hilo/%' AND collection = substr($1, 12)
	UNION ALL
	SELECT document || jsonb_build_object('@metadata', coalesce(document->'@metadata', '{}') || jsonb_build_object('@id', id, '@change-vector', 'A:' || xmin))
	FROM documents WHERE id = $1`;

const NEXT_RANGE = `
	SELECT prefix AS "Prefix", low AS "Low", high AS "High", last_size AS "LastSize", server_tag AS "ServerTag",
		to_char(range_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"0000Z"') AS "LastRangeAt", claim::text AS claim
	FROM hilo.next_range($1, $2, $3, $4)`;

// The claim of the newest range of each collection.  RavenDB's clients
// return a range by two numbers only; a claim has all 64 bits, and so it stays a text.
const claims = new Map();

function keepClaim(collection, { claim, ...range }) {
	claims.set(collection, { high: range.High, claim });
	return range;
}

// Null for a range that is not the newest: return_range() is not asked for it.
function takeClaim(collection, high) {
	const newest = claims.get(collection);
	if (newest?.high !== Number(high)) {
		return null;
	}
	claims.delete(collection);
	return newest.claim;
}

// Method and path behind that of the database: statement, its parameters, the answer.  No statement
// is run for parameters that are null.
const requests = {
	'GET /hilo/next': [
		NEXT_RANGE,
		(q) => [q.get('tag'), q.get('lastBatchSize'), q.get('lastRangeAt'), q.get('lastMax')],
		(rows, q) => keepClaim(q.get('tag'), rows[0]),
	],
	'PUT /hilo/return': [
		'SELECT hilo.return_range($1, $2, $3, $4)',
		(q) => {
			const claim = takeClaim(q.get('tag'), q.get('end'));
			return claim && [q.get('tag'), q.get('last'), q.get('end'), claim];
		},
		() => null,
	],
	'POST /identity/next': [
		'SELECT next_identity_for($1) AS "NewIdentityValue"',
		(q) => [q.get('name')],
		(rows) => rows[0],
	],
	'POST /identity/seed': [
		'SELECT seed_identity_for($1, $2, $3) AS "NewSeedValue"',
		(q) => [q.get('name'), q.get('value'), q.get('force') === 'true'],
		(rows) => rows[0],
	],
	'GET /debug/identities': [
		`SELECT coalesce(jsonb_object_agg(name || '|', value), '{}') AS all FROM hilo.identities`,
		() => [],
		(rows) => rows[0].all,
	],
	'POST /bulk_docs': [
		STORE,
		(q, body) => [JSON.stringify(JSON.parse(body).Commands), new Date().toISOString()],
		(rows) => ({ Results: rows }),
	],
	'GET /docs': [
		LOAD,
		(q) => [q.get('id')],
		(rows) => ({ Results: [rows.length > 0 ? rows[0].document : null], Includes: {} }),
	],
};

async function answer(pool, request) {
	const url = new URL(request.url, `http://${request.headers.host}`);
	const [, , database, path] = url.pathname.match(/^(\/databases\/([^/]+))?(\/.*)$/);
	if (path === '/topology') {
		const node = { Url: url.origin, ClusterTag: 'A', Database: database ?? url.searchParams.get('name'), ServerRole: 'Member' };
		return { Etag: 1, Nodes: [node] };
	}

	let body = '';
	for await (const chunk of request) {
		body += chunk;
	}
	const known = requests[`${request.method} ${path}`];
	if (known === undefined) {
		throw new Error(`unknown request: ${request.method} ${url.pathname}`);
	}
	const [sql, parameters, result] = known;
	const values = parameters(url.searchParams, body);
	const rows = values === null ? [] : (await pool.query(sql, values)).rows;
	return result(rows, url.searchParams);
}

// Start a server; returns its URL and a function that stops it.
exports.start = async function start() {
	const pool = new Pool();
	// A connection that breaks, as in a failover, is replaced by the next request.
	pool.on('error', () => {});
	const server = http.createServer(async (request, response) => {
		try {
			const value = await answer(pool, request);
			response.writeHead(value === null ? 204 : 200, { 'Content-Type': 'application/json' });
			response.end(value === null ? undefined : JSON.stringify(value));
		} catch (error) {
			response.writeHead(500, { 'Content-Type': 'application/json' });
			response.end(JSON.stringify({ Type: 'Error', Message: error.message, Error: error.stack }));
		}
	});
	// The client may use a connection again that has been idle for long on a busy machine.
	server.keepAliveTimeout = 0;
	await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
	const stop = async () => {
		server.closeAllConnections();
		await new Promise((resolve) => server.close(resolve));
		await pool.end();
	};
	return { url: `http://127.0.0.1:${server.address().port}`, stop };
};
