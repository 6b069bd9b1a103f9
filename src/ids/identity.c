/*-------------------------------------------------------------------------
 *
 * identity.c
 *	  Identities and server-side ids: numbers drawn one at a time, without or with a
 *	  tag.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "base/failure_point.h"
#include "counting/node.h"
#include "ids/free_search.h"
#include "ids/identity.h"

void
hilo_identity_init(HiloIdentity *identity, const char *name)
{
	hilo_identity_name(identity->name, name, hilo_identity_parts_separator);
	hilo_collection_init_identity(&identity->collection, identity->name,
								  identity->row_name);
}

int64
hilo_identity_next(HiloIdentity *identity)
{
	return hilo_collection_draw(&identity->collection, 0);
}

/*
 * The next free one
 */

/*
 * Any role can create a table with the name of an unbound identity, or with a
 * trigger that assigns ids, and fill it so that the search makes a large jump.
 * Such a jump requires the privilege to seed.
 */
#define FARTHEST_JUMP	INT64CONST(1048576)

static void
check_may_jump(const char *name, int64 last, int64 number)
{
	if (number - last > FARTHEST_JUMP &&
		!hilo_catalog_may_seed(true, GetUserId()))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("permission denied to move identity \"%s\" from " INT64_FORMAT " to " INT64_FORMAT,
						name, last, number),
				 errdetail("Moving it by more than " INT64_FORMAT " for a table that is not bound requires the privilege to execute seed_identity_for().",
						   FARTHEST_JUMP),
				 errhint("Have the table bound with hilo.bind().")));
}

/* Find a number above last that no document has, and that can be drawn. */
static int64
search(HiloIdentity *identity, int64 last, HiloDocuments *documents, int *tries)
{
	const char *name = identity->name;
	int64		limit = Min(documents->limit,
							hilo_collection_row(&identity->collection)->max_value);
	int			before = *tries;
	int64		number = hilo_free_search(last, limit, hilo_documents_have,
										  documents, tries);

	if (number == 0)
		ereport(ERROR,
				(errcode(ERRCODE_SEQUENCE_GENERATOR_LIMIT_EXCEEDED),
				 errmsg("no free number was found for identity \"%s\"",
						name),
				 last < limit ?
				 errdetail("Of the numbers from " INT64_FORMAT " up to the limit " INT64_FORMAT ", %d were looked up.",
						   last + 1, limit, *tries - before) :
				 errdetail("Numbers up to " INT64_FORMAT " have been claimed; the limit is " INT64_FORMAT ".",
						   last, limit),
				 limit < documents->limit ?
				 errhint("Raise max_value with hilo.configure().") : 0));
	if (!hilo_documents_may_lead(documents))
		check_may_jump(name, last, number);
	return number;
}

/*
 * Search for a free number while other sessions draw.  The documents that they
 * have just created must not make the search jump over free numbers above them.
 * So a number is accepted only if none was drawn since the search began, or if a
 * second search ends there as well, as it does behind a block of documents.
 */
static int64
search_beside_others(HiloIdentity *identity, int64 last,
					 HiloDocuments *documents, int *tries)
{
	int64		before = 0;

	for (;;)
	{
		int64		number = search(identity, last, documents, tries);
		HiloRow		row;

		if (number == last + 1 || number == before)
			return number;
		(void) hilo_counter_read(&identity->collection.ref, &row);
		if (row.max <= last || row.max >= number ||
			(row.flags & HILO_ROW_LEASED))
			return number;
		before = number;
		last = row.max;
	}
}

/*
 * The number is claimed for this session before it is looked up, so that
 * sessions searching at the same time end with different numbers, and none is
 * left out.
 */
int64
hilo_identity_next_beside(HiloIdentity *identity, HiloDocuments *documents, int *tries)
{
	HiloCollection *collection = &identity->collection;
	int64		number = hilo_identity_next(identity);

	while (number > documents->limit ||
		   (++*tries, hilo_documents_have(number, documents)))
	{
		number = search_beside_others(identity, number, documents, tries);
		HILO_FAILURE_POINT("free number found");
		number = hilo_collection_draw(collection, number);

		/* Numbers above it may be free as well. */
		if (number == 0)
			number = hilo_collection_draw(collection, 0);
	}
	return number;
}

/*
 * Nothing is claimed before a free number is found.  If another session has
 * claimed past it by then, the search starts again above that: two sessions
 * never get the same number.
 */
static int64
next_free_here(HiloIdentity *identity, HiloDocuments *documents, int *tries)
{
	HiloCollection *collection = &identity->collection;
	HiloRow		row;
	int64		number;
	int64		drawn;

	do
	{
		(void) hilo_counter_read(&collection->ref, &row);
		number = search_beside_others(identity, row.max, documents, tries);
		HILO_FAILURE_POINT("free number found");
		drawn = hilo_collection_draw(collection, number);

		/*
		 * If another server counts and gave another number instead, that may
		 * be free as well.
		 */
	} while (drawn == 0 ||
			 (drawn != number &&
			  (drawn > documents->limit ||
			   (++*tries, hilo_documents_have(drawn, documents)))));
	return drawn;
}

int64
hilo_identity_next_free(HiloIdentity *identity, int *tries)
{
	HiloDocuments *documents = hilo_documents_open(identity->name, true);
	HiloRow		row;

	/*
	 * If another server counts, numbers at and below max may be in the pool
	 * still, and so are the next ones.
	 */
	*tries = 0;
	(void) hilo_counter_read(&identity->collection.ref, &row);
	return row.flags & HILO_ROW_LEASED ?
		hilo_identity_next_beside(identity, documents, tries) :
		next_free_here(identity, documents, tries);
}

/*
 * Ids
 */

text *
hilo_identity_id(const HiloIdentity *identity, int64 number)
{
	char		start[HILO_MAX_START_LEN];
	int			len = hilo_document_id_start(start, identity->name,
											 hilo_identity_parts_separator, "");

	return hilo_build_id(start, len, number, "");
}

/*
 * Each node of a cluster counts its own server-side ids, while others count all else for a
 * worker: raise 55000 there unless a tag makes them unique.
 */
static void
check_unique(void)
{
	if (hilo_has_own_tag() || !hilo_node_is_worker())
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("cannot draw server-side ids on a Citus worker"),
			 errdetail("This node counts by itself, so other nodes would draw the same numbers."),
			 errhint("Set hilo.node_tag to a tag that only this node has, in its postgresql.conf.")));
}

/*
 * All server-side ids of a node have one counter, so that their numbers
 * increase whatever the prefix.
 */
text *
hilo_next_server_side_id(const char *prefix)
{
	HiloCollection collection = {.ref.name = HILO_OWN_NAME};

	hilo_check_server_side_prefix(prefix,
								  hilo_identity_parts_separator);
	check_unique();
	return hilo_server_side_id(prefix, hilo_collection_draw(&collection, 0),
							   hilo_node_tag);
}
