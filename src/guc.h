/*-------------------------------------------------------------------------
 *
 * guc.h
 *	  The settings of hilo, all named hilo.*.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_GUC_H
#define HILO_GUC_H

#include "text.h"
#include "failure_point.h"

extern char *hilo_node_tag;
extern char *hilo_server_prefix;
extern char *hilo_identity_parts_separator;
extern int	hilo_min_range_size;	/* hilo.debug_range_size */
extern int	hilo_max_range_size;
extern bool hilo_auto_create;	/* true: a draw may create a counter */
extern bool hilo_sequences;		/* true: nextval in queries is ours */

/* Called whenever hilo.sequences is switched on; NULL: there is nothing to call. */
extern void (*hilo_sequences_switched_on) (void);

/* The default of hilo.node_tag. */
#define HILO_DEFAULT_NODE_TAG	"A"

/*
 * True if hilo.node_tag distinguishes this server's ids from those of others: it
 * was set in the server's configuration files or on its command line.  A value set
 * for a database or role, or by a session, may be carried to other servers.
 */
extern bool hilo_has_own_tag(void);

/*
 * Changes whenever a setting that affects the text of ids changes, so that
 * modules can tell when text that they keep is out of date.
 */
extern uint32 hilo_settings_generation;

/* Must be called once, when the library is loaded. */
extern void hilo_settings_init(void);

#endif							/* HILO_GUC_H */
