/*-------------------------------------------------------------------------
 *
 * lease.c
 *	  The SQL functions of leases, for members and for hubs.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xlog.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "servers/hub.h"
#include "servers/member.h"
#include "session/call.h"

PG_FUNCTION_INFO_V1(hilo_lease_from);
PG_FUNCTION_INFO_V1(hilo_hear_hub);
PG_FUNCTION_INFO_V1(hilo_lease);
PG_FUNCTION_INFO_V1(hilo_hub_resume);
PG_FUNCTION_INFO_V1(hilo_hub_resume_all);
PG_FUNCTION_INFO_V1(hilo_hub_forget);
PG_FUNCTION_INFO_V1(hilo_lease_report);

/*
 * Maximum length of a member's name in bytes: together with a counter's name it
 * must fit into an index.
 */
#define MAX_MEMBER_NAME	255

/*
 * On a member
 */

/* The lease_size in argument 2; 0 if it is NULL. */
static int32
lease_size_argument(FunctionCallInfo fcinfo)
{
	int64		size;

	if (PG_ARGISNULL(2))
		return 0;
	size = PG_GETARG_INT64(2);
	if (size < 1 || size > hilo_max_lease_size)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("lease_size must be between 1 and %d",
						hilo_max_lease_size)));
	return (int32) size;
}

Datum
hilo_lease_from(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	int32		size;

	hilo_api_prevent_unless_may_write("hilo.lease_from()");
	(void) hilo_api_administered(fcinfo, &collection);
	size = lease_size_argument(fcinfo);

	if (PG_ARGISNULL(1))
		hilo_lease_end(&collection.ref);
	else
		hilo_lease_begin(&collection.ref,
						 text_to_cstring(PG_GETARG_TEXT_PP(1)), GetUserId(),
						 size);
	PG_RETURN_VOID();
}

Datum
hilo_hear_hub(PG_FUNCTION_ARGS)
{
	HiloCollection collection;

	hilo_api_prevent_unless_may_write("hilo.hear_hub()");
	(void) hilo_api_administered(fcinfo, &collection);
	PG_RETURN_BOOL(hilo_lease_hear(&collection.ref));
}

Datum
hilo_lease_report(PG_FUNCTION_ARGS)
{
	hilo_api_prevent_unless_may_write("hilo.lease_report()");
	PG_RETURN_INT64(hilo_lease_report_all());
}

/*
 * On a hub
 */

/*
 * How many numbers the member asks for, but at most as many as this server
 * gives.
 */
static int64
size_argument(FunctionCallInfo fcinfo)
{
	return Min(hilo_api_number(fcinfo, 1, "size"), hilo_max_lease_size);
}

/*
 * The name of the member in argument 5, which must not contain the bar that
 * follows it in a row.
 */
static const char *
member_argument(FunctionCallInfo fcinfo)
{
	const char *name;

	hilo_api_reject_null(fcinfo, 5, "member");
	name = text_to_cstring(PG_GETARG_TEXT_PP(5));
	if (strlen(name) > MAX_MEMBER_NAME || strchr(name, '|') != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("member must be a name of at most %d bytes without \"|\"",
						MAX_MEMBER_NAME)));
	return name;
}

/*
 * Raise 22023 if numbers up to that one would use up more than half of the
 * remaining numbers, as for an id given by hand: a member's mistake must not
 * exhaust the counter.
 */
static void
refuse_too_far(HiloRowRef *ref, int64 number)
{
	HiloRow		row;

	(void) hilo_counter_read(ref, &row);
	if (number > row.max && number - row.max > (row.max_value - row.max) / 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("numbers of \"%s\" up to " INT64_FORMAT " would use up more than half of the remaining numbers",
						ref->name, number),
				 errdetail("The hub has claimed numbers up to " INT64_FORMAT "; the limit is " INT64_FORMAT ".",
						   row.max, row.max_value),
				 errhint("If the member is right, advance the counter on the hub with %s().",
						 hilo_is_identity(ref->name) ? "seed_identity_for" : "hilo.seed")));
}

/*
 * What a member that knows this hub reports is noted first, even if the hub
 * then gives no lease.  One that does not know it, or was forgotten in the
 * meantime, is noted after its lease was claimed: a forced seed may have
 * overlooked it before, and then other numbers are claimed.
 */
Datum
hilo_lease(PG_FUNCTION_ARGS)
{
	TupleDesc	desc = hilo_api_result_desc(fcinfo);
	HiloCollection collection;
	HiloHubState state;
	const char *member;
	int64		size;
	int64		at_least;
	HiloRow		row;
	int64		known_timeline;
	bool		is_known;
	bool		is_noted;
	HiloRange	range;
	Datum		values[8];
	bool		nulls[8] = {0};

	hilo_api_prevent_unless_may_write("hilo.lease()");
	(void) hilo_api_administered(fcinfo, &collection);
	size = size_argument(fcinfo);
	at_least = hilo_api_number(fcinfo, 2, "at_least");
	hilo_api_reject_null(fcinfo, 3, "known_system");
	hilo_api_reject_null(fcinfo, 4, "known_timeline");
	member = member_argument(fcinfo);

	known_timeline = PG_GETARG_INT64(4);
	is_known = PG_GETARG_INT64(3) != 0;

	hilo_hub_hear(member, PG_GETARG_INT64(3), known_timeline);
	refuse_too_far(&collection.ref, at_least);
	if (is_known)
		hilo_member_note(member, collection.ref.name, at_least, known_timeline,
						 size > 0);
	hilo_hub_note_mode(false);
	hilo_hub_state(&state);
	do
	{
		range = hilo_counter_lease(&collection.ref, hilo_leasing(), size, at_least,
								   &state, hilo_hub_check_not_left, &row);
		if (size > 0)
			hilo_hub_check_not_left(&collection.ref, &state);
		is_noted = is_known &&
			hilo_member_note_lease(member, collection.ref.name, row.epoch);
		if (!is_noted)
			hilo_member_note(member, collection.ref.name, at_least,
							 known_timeline, size > 0);
		if (!is_noted && size > 0)
			(void) hilo_member_note_lease(member, collection.ref.name,
										  row.epoch);
	} while (!is_noted && size > 0 &&
			 !hilo_counter_confirm_lease(&collection.ref, row.epoch));
	if (size > 0 || is_known)
		hilo_hub_note_mode(size > 0);

	values[0] = Int64GetDatum(range.low);
	values[1] = Int64GetDatum(range.high);
	nulls[0] = nulls[1] = size == 0;
	values[2] = Int64GetDatum(row.epoch);
	values[3] = Int64GetDatum((int64) GetSystemIdentifier());
	values[4] = Int64GetDatum(state.told);
	values[5] = Int32GetDatum(row.range_size);
	values[6] = Int32GetDatum(row.max_range_size);
	values[7] = CStringGetTextDatum(NameStr(row.node_tag));
	nulls[7] = (row.flags & HILO_ROW_HAS_TAG) == 0;
	return HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
}

/*
 * To give leases again
 */

/*
 * What the members have reported about one counter, or about all counters: the
 * highest number, and which members have not reported.
 */
typedef struct Reports
{
	int64		highest;
	int			members;		/* number of members, */
	int			missing;		/* number that have not reported, */
	StringInfoData names;		/* and their names */
} Reports;

static void
add_report(Reports *reports, const HiloMember *member)
{
	reports->highest = Max(reports->highest, member->row.highest);
	reports->members++;
	if (!member->reported)
		hilo_append_part(&reports->names, reports->missing++,
						 psprintf("\"%s\" of \"%s\" (last seen at %s%s%s)",
								  member->name,
								  member->counter,
								  timestamptz_to_str(member->row.seen_at),
								  NameStr(member->row.address)[0] == '\0' ? "" : ", from ",
								  NameStr(member->row.address)));
}

/*
 * Raise 55000 if reports are missing, showing where the counters would
 * continue.
 */
static void
refuse_unreported(const Reports *reports, const char *where)
{
	if (reports->missing == 0)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("members of this hub have not reported what they hold"),
			 errdetail("Missing: %s. Known so far: %s.", reports->names.data,
					   where),
			 errhint("A member reports when it asks for a lease, or when hilo.lease_report() is called there. To give up members that are gone for good, use hilo.hub_forget(), or force for all that are missing.")));
}

/* Where the counter would continue, as an item of a list. */
static char *
where_to(const char *counter, int64 at_least)
{
	HiloRowRef	ref;
	HiloRow		row;

	hilo_row_ref_init(&ref, counter);
	(void) hilo_counter_read(&ref, &row);
	return psprintf("\"%s\" up to " INT64_FORMAT, counter,
					Max(at_least, row.max));
}

Datum
hilo_hub_resume(PG_FUNCTION_ARGS)
{
	HiloCollection collection;
	Reports		reports = {0};
	int64		at_least;
	bool		force;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo.hub_resume()");
	(void) hilo_api_administered(fcinfo, &collection);
	at_least = hilo_api_number(fcinfo, 1, "at_least");
	force = hilo_api_bool(fcinfo, 2, "force");

	initStringInfo(&reports.names);
	foreach(lc, hilo_members())
	{
		HiloMember *member = lfirst(lc);

		if (strcmp(member->counter, collection.ref.name) != 0)
			continue;
		add_report(&reports, member);
		if (force && !member->reported)
			hilo_member_forget(member);
	}
	at_least = Max(at_least, reports.highest);
	if (!force)
	{
		HiloRow		row;

		if (!hilo_counter_read(&collection.ref, &row) && reports.members == 0)
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("\"%s\" is not counted here, and no member has asked for it",
							collection.ref.name),
					 errhint("If the name is right, use force.")));
		refuse_unreported(&reports, where_to(collection.ref.name, at_least));
	}
	PG_RETURN_INT64(hilo_counter_resume(&collection.ref, at_least));
}

/* A counter that will give leases again. */
typedef struct Resumed
{
	const char *name;
	int64		at_least;
} Resumed;

static Resumed *
add_resumed(List **all, const char *name)
{
	ListCell   *lc;
	Resumed    *it;

	foreach(lc, *all)
	{
		it = lfirst(lc);
		if (strcmp(it->name, name) == 0)
			return it;
	}
	it = palloc(sizeof(Resumed));
	it->name = name;
	it->at_least = 0;
	*all = lappend(*all, it);
	return it;
}

/* True if the counter of a row must be resumed. */
static bool
is_stopped(const HiloRow *row)
{
	return row->timeline != 0 && !(row->flags & HILO_ROW_LEASED) &&
		(row->timeline != hilo_timeline() || row->epoch == 0);
}

/*
 * The counters that have given leases, but on another timeline or elsewhere;
 * and those that members have asked for, but that do not exist here.
 */
static List *
stopped_counters(List *members)
{
	List	   *all = NIL;
	ListCell   *lc;

	foreach(lc, hilo_row_list())
	{
		HiloNamedRow *row = lfirst(lc);

		if (is_stopped(&row->row))
			(void) add_resumed(&all, row->name);
	}
	foreach(lc, members)
	{
		HiloMember *member = lfirst(lc);
		HiloRowRef	ref;
		HiloRow		row;
		Resumed    *it;

		hilo_row_ref_init(&ref, member->counter);
		if ((hilo_counter_read(&ref, &row) && !is_stopped(&row) &&
			 row.max >= member->row.highest) || (row.flags & HILO_ROW_LEASED))
			continue;
		it = add_resumed(&all, member->counter);
		it->at_least = Max(it->at_least, member->row.highest);
	}
	return all;
}

/*
 * Raise 55000 if this server has given no leases, has no members, and leases
 * numbers itself: it was probably mistaken for the hub.
 */
static void
refuse_on_member(const List *members)
{
	const HiloNamedRow *leased = NULL;
	ListCell   *lc;

	foreach(lc, hilo_row_list())
	{
		const HiloNamedRow *it = lfirst(lc);

		if (it->row.flags & HILO_ROW_LEASED)
		{
			if (NameStr(it->row.hub)[0] != '\0')
				leased = it;
		}
		else if (it->row.timeline != 0)
			return;
	}
	if (members != NIL || leased == NULL)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("this server has given no leases"),
			 errdetail("It leases \"%s\" from \"%.*s\".", leased->name,
					   (int) strcspn(NameStr(leased->row.hub), "|"),
					   NameStr(leased->row.hub)),
			 errhint("Call hilo.hub_resume() there. If this server should be a hub as well, use force.")));
}

Datum
hilo_hub_resume_all(PG_FUNCTION_ARGS)
{
	bool		force = hilo_api_bool(fcinfo, 0, "force");
	Reports		reports = {0};
	StringInfoData where;
	List	   *members;
	List	   *stopped;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo.hub_resume()");
	initStringInfo(&reports.names);
	initStringInfo(&where);
	members = hilo_members();
	if (!force)
		refuse_on_member(members);
	foreach(lc, members)
	{
		HiloMember *member = lfirst(lc);

		add_report(&reports, member);
		if (force && !member->reported)
			hilo_member_forget(member);
	}
	stopped = stopped_counters(members);
	foreach(lc, stopped)
	{
		Resumed    *it = lfirst(lc);

		hilo_append_part(&where, foreach_current_index(lc),
						 where_to(it->name, it->at_least));
	}
	if (!force)
		refuse_unreported(&reports, where.len > 0 ? where.data : "nothing");

	foreach(lc, stopped)
	{
		Resumed    *it = lfirst(lc);
		HiloRowRef	ref;

		hilo_row_ref_init(&ref, it->name);
		(void) hilo_counter_resume(&ref, it->at_least);
	}
	hilo_hub_set_timeline(hilo_timeline());
	PG_RETURN_INT64(list_length(stopped));
}

Datum
hilo_hub_forget(PG_FUNCTION_ARGS)
{
	const char *name;
	int64		count = 0;
	ListCell   *lc;

	hilo_api_prevent_unless_may_write("hilo.hub_forget()");
	name = hilo_api_name(fcinfo, 0, "member");
	foreach(lc, hilo_members())
	{
		HiloMember *member = lfirst(lc);

		if (strcmp(member->name, name) != 0)
			continue;
		hilo_member_forget(member);
		count++;
	}
	if (count == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("this hub has no member \"%s\"", name),
				 errhint("The view hilo.members lists the members.")));
	PG_RETURN_INT64(count);
}
