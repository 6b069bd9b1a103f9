/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The settings of hilo, all of them named hilo.*.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/acl.h"
#include "utils/plancache.h"

#include "base/compat.h"
#include "base/settings.h"

/* The initial values are the defaults. */
char	   *hilo_node_tag = HILO_DEFAULT_NODE_TAG;
char	   *hilo_server_prefix = "";
char	   *hilo_identity_parts_separator = "/";
int			hilo_min_range_size = 1;
int			hilo_max_range_size = 1048576;
bool		hilo_auto_create = true;
bool		hilo_sequences = false;
void		(*hilo_sequences_switched_on) (void) = NULL;
void		(*hilo_sequences_refused) (void) = NULL;

int			hilo_pool_size = 1024;
char	   *hilo_hub = "";
int			hilo_min_lease_size = 65536;
int			hilo_lease_timeout = 10000;
bool		hilo_hub_auto_resume = false;

uint32		hilo_settings_generation = 1;

/* True if the current node tag was set for this server only. */
static bool node_tag_is_own = false;

bool
hilo_has_own_tag(void)
{
	return node_tag_is_own && hilo_node_tag[0] != '\0' &&
		strcmp(hilo_node_tag, HILO_DEFAULT_NODE_TAG) != 0;
}

/* Tells the assign hook whether the tag was set for this server only. */
static bool
check_node_tag(char **newval, void **extra, GucSource source)
{
	if (hilo_is_node_tag(*newval, strlen(*newval)))
	{
		bool	   *is_own = *extra = hilo_guc_malloc(sizeof(bool));

		if (is_own != NULL)
			*is_own = source == PGC_S_ENV_VAR || source == PGC_S_FILE ||
				source == PGC_S_ARGV;
		return is_own != NULL;
	}
	GUC_check_errdetail("A node tag consists of letters, digits and underscores, at most %d.",
						HILO_MAX_TAG_LEN);
	return false;
}

static void
assign_node_tag(const char *newval, void *extra)
{
	node_tag_is_own = *(const bool *) extra;
	hilo_settings_generation++;
}

static bool
check_server_prefix(char **newval, void **extra, GucSource source)
{
	if (hilo_is_server_prefix(*newval))
		return true;
	GUC_check_errdetail("A server prefix has at most %d bytes, contains no \"|\" and no control character, and does not end in a letter or digit; if the library is preloaded, it must be ASCII.",
						HILO_MAX_PREFIX_LEN);
	GUC_check_errhint("End it with a separator, like \"NorthServer/\".");
	return false;
}

static bool
check_separator(char **newval, void **extra, GucSource source)
{
	if (hilo_is_separator(*newval))
		return true;
	GUC_check_errdetail("The separator is one character other than \"|\", a letter, a digit or a control character; if the library is preloaded, it must be ASCII.");
	return false;
}

/* Where there is a hub, the planner leaves sequences as they are, and draws are refused. */
static void
assign_hub(const char *newval, void *extra)
{
	if (hilo_hub != NULL && (*newval == '\0') != (*hilo_hub == '\0'))
	{
		ResetPlanCache();
		if (hilo_sequences_refused != NULL)
			hilo_sequences_refused();
	}
}

static bool
check_hub_name(char **newval, void **extra, GucSource source)
{
	if (strlen(*newval) < NAMEDATALEN && strchr(*newval, '|') == NULL)
		return true;
	GUC_check_errdetail("The name of a server has at most %d bytes and contains no \"|\".",
						NAMEDATALEN - 1);
	return false;
}

static void
assign_part_of_id(const char *newval, void *extra)
{
	hilo_settings_generation++;
}

/* Prepared statements follow the setting, too. */
static void
assign_sequences(bool newval, void *extra)
{
	if (newval != hilo_sequences)
		ResetPlanCache();
	if (newval && hilo_sequences_switched_on != NULL)
		hilo_sequences_switched_on();
}

/*
 * Defining
 *
 * Version 15 sorts all settings again whenever one is defined.  That takes 589,000
 * instructions each time, so our settings would cost a connection more than all
 * else that it does.  It takes a tenth of that if they are sorted already.  So
 * ours are defined in the order of their names, while the settings that belong
 * behind them are hidden by copies of the one before them.  Those that have a
 * placeholder are defined first, because they take its place without a sort.
 */

/* More than there are settings. */
#define MAX_SETTINGS	32

static const char *defined[MAX_SETTINGS];
static int	defined_count = 0;

/*
 * Raise 42501 if the options of the connection have a setting that its role may not
 * change.  A placeholder takes any value, in place of the configured one.  The server would
 * only warn when the setting is defined, and use the default: numbers of a hub would be
 * counted here.
 */
static void
check_may_set(const struct config_generic *placeholder, const char *name,
			  GucContext context)
{
	if (context == PGC_USERSET || placeholder == NULL ||
		placeholder->reset_source != PGC_S_CLIENT ||
		(context == PGC_SUSET &&
		 (placeholder->reset_scontext == PGC_SU_BACKEND ||
		  pg_parameter_aclcheck(name, placeholder->reset_srole, ACL_SET) == ACLCHECK_OK)))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to set parameter \"%s\"", name),
			 errhint("Connect without this option.")));
}

/*
 * True if a setting has to be defined now, and was not before: any one, or only
 * one that has a placeholder.
 */
static bool
is_next(const char *name, GucContext context, bool with_placeholder)
{
	const struct config_generic *placeholder;

	for (int i = 0; i < defined_count; i++)
	{
		if (strcmp(defined[i], name) == 0)
			return false;
	}
	placeholder = hilo_find_setting(name);
	check_may_set(placeholder, name, context);
	if (with_placeholder && placeholder == NULL)
		return false;
	Assert(defined_count < MAX_SETTINGS);
	defined[defined_count++] = name;
	return true;
}

/* Define settings, in the order of their names. */
static void
define_settings(bool with_placeholder)
{
	if (is_next("hilo.auto_create", PGC_SUSET, with_placeholder))
		DefineCustomBoolVariable("hilo.auto_create",
								 "Lets draws create collections and identities.",
								 "If off, hilo.attach(), hilo.seed() and the like create them.",
								 &hilo_auto_create, hilo_auto_create, PGC_SUSET, 0,
								 NULL, NULL, NULL);
	if (is_next("hilo.hub", PGC_SUSET, with_placeholder))
		DefineCustomStringVariable("hilo.hub",
								   "Sets the foreign server that new collections lease their numbers from.",
								   "It applies to collections from which nothing has been claimed here. Empty means none.",
								   &hilo_hub, hilo_hub, PGC_SUSET, 0,
								   check_hub_name, assign_hub, NULL);
	if (is_next("hilo.hub_auto_resume", PGC_SUSET, with_placeholder))
		DefineCustomBoolVariable("hilo.hub_auto_resume",
								 "Lets this server give leases right after a promotion.",
								 "Set it only where standbys are synchronous, so that no promotion can lose a commit.",
								 &hilo_hub_auto_resume, hilo_hub_auto_resume,
								 PGC_SUSET, 0, NULL, NULL, NULL);
	if (is_next("hilo.identity_parts_separator", PGC_SUSET, with_placeholder))
		DefineCustomStringVariable("hilo.identity_parts_separator",
								   "Sets the character between collection and number.",
								   NULL,
								   &hilo_identity_parts_separator,
								   hilo_identity_parts_separator, PGC_SUSET, 0,
								   check_separator, assign_part_of_id, NULL);
	if (is_next("hilo.lease_size", PGC_SUSET, with_placeholder))
		DefineCustomIntVariable("hilo.lease_size",
								"Sets the smallest number of ids leased at a time.",
								"hilo.lease_from() can override it for a collection.",
								&hilo_min_lease_size, hilo_min_lease_size,
								1, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	if (is_next("hilo.lease_timeout", PGC_SUSET, with_placeholder))
		DefineCustomIntVariable("hilo.lease_timeout",
								"Sets how long to wait for a connection to a hub, and for its answer.",
								"For the connection, the option connect_timeout of the server or user mapping takes precedence.",
								&hilo_lease_timeout, hilo_lease_timeout,
								1, INT_MAX, PGC_SUSET, GUC_UNIT_MS,
								NULL, NULL, NULL);
	if (is_next("hilo.max_range_size", PGC_SUSET, with_placeholder))
		DefineCustomIntVariable("hilo.max_range_size",
								"Sets the largest number of ids claimed at a time.",
								NULL,
								&hilo_max_range_size, hilo_max_range_size,
								1, INT_MAX, PGC_SUSET, 0, NULL, NULL, NULL);
	if (is_next("hilo.node_tag", PGC_SUSET, with_placeholder))
		DefineCustomStringVariable("hilo.node_tag",
								   "Sets the tag of this server, which follows the number in an id.",
								   "A tag consists of letters, digits and underscores. If it is empty, ids have no tag.",
								   &hilo_node_tag, hilo_node_tag, PGC_SUSET, 0,
								   check_node_tag, assign_node_tag, NULL);
	if (is_next("hilo.pool_size", PGC_SIGHUP, with_placeholder))
		DefineCustomIntVariable("hilo.pool_size",
								"Sets the number of collections whose unused numbers are kept in shared memory.",
								"It is read when that memory is made, by the first session that draws after the start of the server.",
								&hilo_pool_size, hilo_pool_size,
								1, 1000000, PGC_SIGHUP, 0, NULL, NULL, NULL);
	if (is_next("hilo.range_size", PGC_USERSET, with_placeholder))
		DefineCustomIntVariable("hilo.range_size",
								"Sets the smallest number of ids claimed at a time.",
								"If it exceeds hilo.max_range_size, that setting takes precedence.",
								&hilo_min_range_size, hilo_min_range_size,
								1, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	if (is_next("hilo.sequences", PGC_USERSET, with_placeholder))
		DefineCustomBoolVariable("hilo.sequences",
								 "Lets nextval() in queries, and identity columns, draw as hilo.nextval() does.",
								 "In a database without the extension, this does nothing.",
								 &hilo_sequences, hilo_sequences, PGC_USERSET, 0,
								 NULL, assign_sequences, NULL);
	if (is_next("hilo.server_prefix", PGC_SUSET, with_placeholder))
		DefineCustomStringVariable("hilo.server_prefix",
								   "Sets the text that precedes the number in an id.",
								   NULL,
								   &hilo_server_prefix, hilo_server_prefix,
								   PGC_SUSET, 0,
								   check_server_prefix, assign_part_of_id, NULL);
}

/*
 * Put the settings back that were hidden from a place on, and sort those that
 * were added behind them into the others.
 */
static void
show_settings(int first, struct config_generic **hidden, int hidden_count)
{
	int			count;
	struct config_generic **all = hilo_sorted_settings(&count);
	int			added = count - first - hidden_count;

	memmove(all + first, all + first + hidden_count, added * sizeof(*all));
	memcpy(all + first + added, hidden, hidden_count * sizeof(*all));
	for (int i = first + 1; i < count; i++)
	{
		struct config_generic *setting = all[i];
		int			place = i;

		for (; place > first && pg_strcasecmp(all[place - 1]->name, setting->name) > 0; place--)
			all[place] = all[place - 1];
		all[place] = setting;
	}
}

/* Define settings while those from a place on are hidden. */
static void
define_at_end(int first, struct config_generic **hidden, int hidden_count)
{
	PG_TRY();
	{
		define_settings(false);
	}
	PG_CATCH();
	{
		show_settings(first, hidden, hidden_count);
		PG_RE_THROW();
	}
	PG_END_TRY();
	show_settings(first, hidden, hidden_count);
}

/* Define all settings without having them sorted each time. */
static void
define_sorted_settings(void)
{
	int			first = 0;
	int			count;
	struct config_generic **all;
	struct config_generic **hidden;

	define_settings(true);
	all = hilo_sorted_settings(&count);
	while (first < count && pg_strcasecmp(all[first]->name, "hilo.") < 0)
		first++;
	Assert(first > 0);

	hidden = palloc((count - first) * sizeof(*all));
	memcpy(hidden, all + first, (count - first) * sizeof(*all));
	for (int i = first; i < count; i++)
		all[i] = all[first - 1];
	define_at_end(first, hidden, count - first);
	pfree(hidden);
}

void
hilo_settings_init(void)
{
	int			count;

	if (hilo_sorted_settings(&count) == NULL)
		define_settings(false);
	else
		define_sorted_settings();
	MarkGUCPrefixReserved("hilo");
}
