/*-------------------------------------------------------------------------
 *
 * once.c
 *	  Messages that are sent once per session.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "counting/once.h"

/* Hashes of the messages sent: with 64 bits they practically never collide. */
static HTAB *said = NULL;

bool
hilo_once(const char *message, const char *name)
{
	uint64		key = hash_bytes_extended((const unsigned char *) name, strlen(name),
										  hash_bytes((const unsigned char *) message, strlen(message)));
	bool		found;

	if (said == NULL)
	{
		HASHCTL		ctl = {.keysize = sizeof(uint64),.entrysize = sizeof(uint64),
		.hcxt = TopMemoryContext};

		said = hash_create("hilo messages", 16, &ctl,
						   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	(void) hash_search(said, &key, HASH_ENTER, &found);
	return !found;
}
