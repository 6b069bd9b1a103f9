/*-------------------------------------------------------------------------
 *
 * guc.c
 *	  The settings of hilo, all of them named hilo.*.
 *
 * Three of them are parts of the text of ids.  Their values are checked when they are set, so
 * that an id can be put together later without any check; and each assignment raises
 * hilo_settings_generation, so that text which was put together before is made anew.
 *
 * Until the library is loaded, a value is a placeholder, and is checked when the setting is
 * defined.  Check hooks of a preloaded library run in the postmaster, which has no database
 * and therefore knows no encoding; there only ASCII can be accepted.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "utils/plancache.h"

#include "compat.h"
#include "guc.h"

/* The initial values are the defaults. */
char	   *hilo_node_tag = HILO_DEFAULT_NODE_TAG;
char	   *hilo_server_prefix = "";
char	   *hilo_identity_parts_separator = "/";
int			hilo_min_range_size = 1;
int			hilo_max_range_size = 1048576;
bool		hilo_auto_create = true;
bool		hilo_sequences = false;
void		(*hilo_sequences_switched_on) (void) = NULL;

uint32		hilo_settings_generation = 1;

/* True if the current node tag was set for this server only. */
static bool node_tag_is_own = false;

bool
hilo_has_own_tag(void)
{
	return node_tag_is_own && hilo_node_tag[0] != '\0' &&
		strcmp(hilo_node_tag, HILO_DEFAULT_NODE_TAG) != 0;
}

/*
 * Check hook.  It also tells the assign hook whether the tag was set for this server only, because
 * the assign hook is not told where a value comes from.
 */
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

/* Also called when a transaction is rolled back, with the extra value of before. */
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

static void
assign_part_of_id(const char *newval, void *extra)
{
	hilo_settings_generation++;
}

/*
 * The planner hook replaces nextval(), so plans that were made before must be made again: then
 * prepared statements follow the setting, too.
 */
static void
assign_sequences(bool newval, void *extra)
{
	if (newval != hilo_sequences)
		ResetPlanCache();
	if (newval && hilo_sequences_switched_on != NULL)
		hilo_sequences_switched_on();
}

/*
 * Parts of ids are for superusers, because a role that sets them could write ids that look like
 * those of another server.
 */
static void
define_text(const char *name, const char *description, const char *details, char **setting,
			GucStringCheckHook check, GucStringAssignHook assign)
{
	DefineCustomStringVariable(name, description, details, setting, *setting, PGC_SUSET, 0,
							   check, assign, NULL);
}

/* How many numbers are claimed at a time. */
static void
define_size(const char *name, const char *description, const char *details, int *setting,
			GucContext context)
{
	DefineCustomIntVariable(name, description, details, setting, *setting, 1, INT_MAX, context, 0,
							NULL, NULL, NULL);
}

void
hilo_settings_init(void)
{
	DefineCustomBoolVariable("hilo.auto_create",
							 "Lets draws create collections and identities.",
							 "If off, hilo.seed() and hilo.configure() create them.",
							 &hilo_auto_create, hilo_auto_create, PGC_SUSET, 0,
							 NULL, NULL, NULL);
	define_size("hilo.debug_range_size", "Sets the smallest number of ids claimed at a time.",
				"For tests, whose results must not depend on the clock: without it, ranges begin with one number.",
				&hilo_min_range_size, PGC_USERSET);
	define_text("hilo.identity_parts_separator",
				"Sets the character between collection and number.", NULL,
				&hilo_identity_parts_separator, check_separator, assign_part_of_id);
	define_size("hilo.max_range_size", "Sets the largest number of ids claimed at a time.", NULL,
				&hilo_max_range_size, PGC_SUSET);
	define_text("hilo.node_tag",
				"Sets the tag of this server, which follows the number in an id.",
				"A tag consists of letters, digits and underscores. If it is empty, ids have no tag.",
				&hilo_node_tag, check_node_tag, assign_node_tag);
	DefineCustomBoolVariable("hilo.sequences",
							 "Lets nextval() in queries, and identity columns, draw as hilo.nextval() does.",
							 "In a database without the extension, this does nothing.",
							 &hilo_sequences, hilo_sequences, PGC_USERSET, 0,
							 NULL, assign_sequences, NULL);
	define_text("hilo.server_prefix", "Sets the text that precedes the number in an id.", NULL,
				&hilo_server_prefix, check_server_prefix, assign_part_of_id);

	/* Only now: a placeholder of one of these names becomes the setting. */
	MarkGUCPrefixReserved("hilo");
}
