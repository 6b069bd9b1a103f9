/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Identities and server-side ids: numbers claimed one at a time.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "document_id.h"
#include "identity.h"
#include "settings.h"

void
hilo_identity_counter(HiloCounter *counter, HiloName name)
{
	name.len = hilo_check_identity(name.data, name.len,
								   hilo_identity_parts_separator);
	hilo_counter_init(counter, HILO_TABLE_IDENTITIES, name);
}

static int64
claim_one(HiloCounter *counter)
{
	HiloRangeRequest request = {.size = 1, .exact = true, .alignment = 1};
	HiloClaim	claim;

	hilo_counter_claim(counter, &request, HILO_FOR_STATEMENT, &claim);
	return claim.range.low;
}

int64
hilo_identity_next(HiloCounter *counter)
{
	return claim_one(counter);
}

text *
hilo_identity_id(const HiloCounter *counter, int64 number)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, counter->name.data,
											 counter->name.len,
											 hilo_identity_parts_separator, "");

	return hilo_build_id(start, len, number, start, 0);
}

/*
 * All server-side ids of a node have one counter, so that their numbers
 * increase whatever the prefix.  It is a row of the table hilo, with a name
 * that no collection can have.
 */
text *
hilo_next_server_side_id(HiloName prefix)
{
	HiloName	name = {HILO_SERVER_SIDE_NAME, strlen(HILO_SERVER_SIDE_NAME)};
	HiloCounter counter;

	hilo_check_server_side_prefix(prefix.data, prefix.len,
								  hilo_identity_parts_separator);
	hilo_counter_init(&counter, HILO_TABLE_COLLECTIONS, name);
	return hilo_server_side_id(prefix.data, prefix.len, claim_one(&counter),
							   hilo_id_suffix, hilo_id_suffix_len);
}
