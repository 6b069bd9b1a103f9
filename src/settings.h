/*-------------------------------------------------------------------------
 *
 * settings.h
 *	  The settings of hilo, all named hilo.*.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_SETTINGS_H
#define HILO_SETTINGS_H

#include "document_id.h"

extern char *hilo_node_tag;
extern char *hilo_server_prefix;
extern char *hilo_identity_parts_separator;
extern int	hilo_min_range_size;	/* hilo.range_size */
extern int	hilo_max_range_size;
extern int	hilo_range_duration;	/* milliseconds */
extern int	hilo_client_range_duration; /* milliseconds */
extern bool hilo_auto_create;	/* may a draw create a counter? */
extern bool hilo_allow_worker_draws;	/* may a Citus worker draw as it likes? */

/* What hilo.node_tag is where nobody has set it. */
#define HILO_DEFAULT_NODE_TAG	"A"

/* Leases. */
extern char *hilo_hub;			/* server to lease new collections from */
extern int	hilo_lease_duration;	/* milliseconds */
extern int	hilo_min_lease_size;	/* hilo.lease_size */
extern int	hilo_max_lease_size;
extern int	hilo_lease_ahead;	/* percent of the current lease */
extern int	hilo_lease_retry;	/* milliseconds */
extern int	hilo_lease_timeout; /* milliseconds */
extern bool hilo_hub_auto_resume;

/* Parked tails. */
extern int	hilo_parked_ranges; /* as set; hilo_parking_room() tells */
extern int	hilo_release_to;

/* The values of hilo.release_to. */
typedef enum HiloReleaseTo
{
	HILO_RELEASE_TO_ROW,
	HILO_RELEASE_TO_PARKING
} HiloReleaseTo;

/*
 * Changes whenever a setting changes that the bytes of an id depend on, so
 * that who keeps such bytes knows when to make them anew.
 */
extern uint32 hilo_settings_generation;

/* What stands behind a number with hilo.node_tag: "-A", or nothing. */
extern char hilo_id_suffix[1 + HILO_MAX_TAG_LEN];
extern int	hilo_id_suffix_len;

extern void hilo_settings_init(void);

#endif							/* HILO_SETTINGS_H */
