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

uint32		hilo_settings_generation = 1;
char		hilo_id_suffix[1 + HILO_MAX_TAG_LEN];
int			hilo_id_suffix_len;

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

static void
assign_part_of_id(const char *newval, void *extra)
{
	hilo_settings_generation++;
}

void
hilo_settings_init(void)
{
	DefineCustomStringVariable("hilo.node_tag",
							   "Name of this server, put behind the numbers of ids.",
							   "Letters, digits and underscores; empty for none.",
							   &hilo_node_tag, "A", PGC_SUSET, 0,
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

	MarkGUCPrefixReserved("hilo");
}
