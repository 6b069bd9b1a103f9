/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The settings of hilo, all named hilo.*.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "settings.h"

char	   *hilo_node_tag;
char	   *hilo_server_prefix;
char	   *hilo_identity_parts_separator;
int			hilo_min_range_size;
int			hilo_max_range_size;
int			hilo_range_duration;
int			hilo_client_range_duration;
bool		hilo_auto_create;
char	   *hilo_hub;
int			hilo_lease_duration;
int			hilo_min_lease_size;
int			hilo_max_lease_size;
int			hilo_lease_ahead;
int			hilo_lease_retry;
int			hilo_lease_timeout;
bool		hilo_hub_auto_resume;
bool		hilo_allow_worker_draws;
int			hilo_parked_ranges;
int			hilo_release_to;

uint32		hilo_settings_generation = 1;
char		hilo_id_suffix[1 + HILO_MAX_TAG_LEN];
int			hilo_id_suffix_len;

static const struct config_enum_entry release_to_values[] = {
	{"row", HILO_RELEASE_TO_ROW, false},
	{"parking", HILO_RELEASE_TO_PARKING, false},
	{NULL, 0, false}
};

/* Was the library loaded when the server was started? */
static bool is_preloaded;

static bool
check_node_tag(char **newval, void **extra, GucSource source)
{
	if (hilo_is_node_tag(*newval, strlen(*newval)))
		return true;
	GUC_check_errdetail("A node tag consists of letters, digits and underscores, at most %d.",
						HILO_MAX_TAG_LEN);
	return false;
}

static void
assign_node_tag(const char *newval, void *extra)
{
	int			len = strlen(newval);

	hilo_id_suffix_len = len > 0 ? len + 1 : 0;
	hilo_id_suffix[0] = '-';
	memcpy(hilo_id_suffix + 1, newval, len);
	hilo_settings_generation++;
}

static bool
check_server_prefix(char **newval, void **extra, GucSource source)
{
	if (hilo_is_server_prefix(*newval))
		return true;
	GUC_check_errdetail("A server prefix has at most %d bytes, contains no \"|\" and no control character, and does not end in a letter or digit; in a preloading server it is ASCII.",
						HILO_MAX_PREFIX_LEN);
	GUC_check_errhint("End it with a separator, like \"NorthServer/\".");
	return false;
}

static bool
check_separator(char **newval, void **extra, GucSource source)
{
	if (hilo_is_separator(*newval))
		return true;
	GUC_check_errdetail("The separator is one character, but not \"|\", a letter, a digit or a control character; in a preloading server it is ASCII.");
	return false;
}

static bool
check_hub(char **newval, void **extra, GucSource source)
{
	if (strlen(*newval) < NAMEDATALEN)
		return true;
	GUC_check_errdetail("The name of a server has at most %d bytes.",
						NAMEDATALEN - 1);
	return false;
}

static void
assign_part_of_id(const char *newval, void *extra)
{
	hilo_settings_generation++;
}

/* Without memory asked for at the start, there is no room. */
static const char *
show_parked_ranges(void)
{
	static char buffer[12];

	snprintf(buffer, sizeof(buffer), "%d",
			 is_preloaded ? hilo_parked_ranges : 0);
	return buffer;
}

void
hilo_settings_init(void)
{
	is_preloaded = process_shared_preload_libraries_in_progress;

	DefineCustomStringVariable("hilo.node_tag",
							   "Name of this server, put behind the numbers of ids.",
							   "Letters, digits and underscores; empty for none.",
							   &hilo_node_tag, HILO_DEFAULT_NODE_TAG, PGC_SUSET, 0,
							   check_node_tag, assign_node_tag, NULL);
	DefineCustomStringVariable("hilo.server_prefix",
							   "Text put before the numbers of ids.",
							   NULL,
							   &hilo_server_prefix, "", PGC_SUSET, 0,
							   check_server_prefix, assign_part_of_id, NULL);
	DefineCustomStringVariable("hilo.identity_parts_separator",
							   "Character between collection and number.",
							   NULL,
							   &hilo_identity_parts_separator, "/", PGC_SUSET, 0,
							   check_separator, assign_part_of_id, NULL);
	DefineCustomIntVariable("hilo.range_size",
							"Smallest number of ids claimed at a time.",
							"Where it is larger than hilo.max_range_size, that one counts.",
							&hilo_min_range_size, 32, 1, INT_MAX, PGC_USERSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.max_range_size",
							"Largest number of ids claimed at a time.",
							NULL,
							&hilo_max_range_size, 1048576, 1, INT_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.range_duration",
							"How long a session's range should last.",
							"The next range doubles when the last one was used up sooner, and halves when it lasted more than twice as long.",
							&hilo_range_duration, 1000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.client_range_duration",
							"How long a range of hilo_next_range() should last.",
							NULL,
							&hilo_client_range_duration, 30000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomBoolVariable("hilo.auto_create",
							 "May a draw create a collection or identity?",
							 "If not, they are created by hilo_attach(), hilo_seed() and the like.",
							 &hilo_auto_create, true, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomStringVariable("hilo.hub",
							   "Foreign server that new collections lease their numbers from.",
							   "Empty for none. It counts for collections that nothing has been drawn from.",
							   &hilo_hub, "", PGC_SUSET, 0,
							   check_hub, NULL, NULL);
	DefineCustomIntVariable("hilo.lease_duration",
							"How long a lease should last.",
							"The next lease doubles when the last one was used up sooner, and halves when it lasted more than twice as long.",
							&hilo_lease_duration, 600000, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.lease_size",
							"Smallest number of ids leased at a time.",
							"hilo_lease_from() can set another one for a collection.",
							&hilo_min_lease_size, 65536, 1, INT_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.max_lease_size",
							"Largest number of ids leased at a time.",
							"Of a hub: given at a time.",
							&hilo_max_lease_size, 1073741824, 1, INT_MAX, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.lease_ahead",
							"Percentage of a lease that is left when the next one is fetched.",
							"0: it is fetched when it is needed, and no sooner.",
							&hilo_lease_ahead, 75, 0, 100, PGC_SUSET, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.lease_retry",
							"How long a hub that has failed is not asked again.",
							NULL,
							&hilo_lease_retry, 1000, 0, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.lease_timeout",
							"How long a hub may take to connect, and to answer.",
							"An option connect_timeout of the server or user mapping counts for connecting.",
							&hilo_lease_timeout, 10000, 1, INT_MAX,
							PGC_SUSET, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomBoolVariable("hilo.hub_auto_resume",
							 "Does this server give leases at once when it was promoted?",
							 "To be set only where no promotion can lose a commit, because standbys are synchronous.",
							 &hilo_hub_auto_resume, false, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("hilo.allow_worker_draws",
							 "May a worker of a Citus cluster draw numbers that other nodes may draw, too?",
							 "If not, it draws only what a node tag of its own makes unique.",
							 &hilo_allow_worker_draws, false, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("hilo.parked_ranges",
							"How many unused ranges connections can leave behind for the next one.",
							"Takes about 500 bytes of shared memory each, and the library in shared_preload_libraries.",
							&hilo_parked_ranges, 1024, 0, 1000000,
							is_preloaded ? PGC_POSTMASTER : PGC_SIGHUP, 0,
							NULL, NULL, show_parked_ranges);
	DefineCustomEnumVariable("hilo.release_to",
							 "Where hilo_release() puts unused numbers.",
							 "Into the row if they are of its newest claim, or where the next connection takes them from.",
							 &hilo_release_to, HILO_RELEASE_TO_ROW,
							 release_to_values, PGC_USERSET, 0,
							 NULL, NULL, NULL);

	MarkGUCPrefixReserved("hilo");
}
