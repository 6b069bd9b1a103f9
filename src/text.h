/*-------------------------------------------------------------------------
 *
 * text.h
 *	  The text of document ids: builds, checks and splits it.
 *
 * An id consists of collection, separator, server prefix, number, '-' and node
 * tag: orders/NorthServer/10-A. There is no catalog access and no setting is
 * read: the caller passes separator, prefix and tag.  Strings are in the
 * database's encoding.  Names are terminated; an id comes with its length.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_TEXT_H
#define HILO_TEXT_H

#include "mb/pg_wchar.h"


/* Longest name of a collection or identity, node tag, server prefix, and id. */
#define HILO_MAX_NAME_LEN		255
#define HILO_MAX_TAG_LEN		32
#define HILO_MAX_PREFIX_LEN		128
#define HILO_MAX_ID_LEN			512

/* Room for the name of an identity's row: with a bar, and terminated. */
#define HILO_MAX_ROW_NAME_LEN	(HILO_MAX_NAME_LEN + 2)

/* Longest start of an id: collection, separator, server prefix. */
#define HILO_MAX_START_LEN \
	(HILO_MAX_NAME_LEN + MAX_MULTIBYTE_CHAR_LEN + HILO_MAX_PREFIX_LEN)

/*
 * Raise 22023 unless name is valid for a collection.  With a NULL separator,
 * the last character may be any separator.
 */
extern void hilo_check_collection(const char *name, const char *separator);

/*
 * For functions that administer: raise 22023 unless name is valid for a
 * collection or, with a '|' at its end, for an identity.  Returns whether it is
 * the name of an identity.
 */
extern bool hilo_check_row_name(const char *name, const char *separator);

/*
 * The name of an identity without the one '|' or separator at its end, if any,
 * into a buffer of HILO_MAX_NAME_LEN + 1 bytes; raises 22023 unless that is
 * valid for an identity.
 */
extern void hilo_identity_name(char *buffer, const char *name,
							   const char *separator);

/* Raise 22023 unless prefix is valid for server-side ids. */
extern void hilo_check_server_side_prefix(const char *prefix,
										  const char *separator);

/* True if id ends in the string end. */
extern bool hilo_ends_with(const char *id, const char *end);

/* Raise 22023 unless tag is a valid node tag; the empty one is. */
extern void hilo_check_node_tag(const char *tag);

/*
 * True for a valid tag: letters, digits and underscores, at most
 * HILO_MAX_TAG_LEN.
 */
extern bool hilo_is_node_tag(const char *tag, int len);

/*
 * True if ids may be built with this separator: one character other than '|', a
 * letter or a digit.
 */
extern bool hilo_is_separator(const char *separator);

/*
 * Raise 22023 unless the collection may have this separator of its own: it must be ASCII, because
 * the row has one byte for it, the name must not end in it, and hilo_document_id_number() must find
 * the number in each id.  Raise 0A000 if the name, with a bar at its end, is not that of a
 * collection.
 */
extern void hilo_check_own_separator(const char *name, const char *separator);

/* True if ids may be built with this server prefix. */
extern bool hilo_is_server_prefix(const char *prefix);

/*
 * Write the start of a collection's ids into start, which has room for
 * HILO_MAX_START_LEN bytes.  Returns the length.
 */
extern int	hilo_document_id_start(char *start, const char *name,
								   const char *separator, const char *prefix);

/*
 * The id of number: the bytes before it, its digits, and, unless the tag is empty,
 * a hyphen and the tag.  Palloc'd in the current memory context.
 */
extern text *hilo_build_id(const char *start, int start_len, int64 number,
						   const char *tag);

/*
 * Ids of one collection that differ only in the number, made one after the
 * other: mostly the last digit changes, in the id that was made before.
 */
typedef struct HiloIdForm
{
	char	   *id;				/* that id, a text; NULL: not initialized */
	int			room;			/* bytes that its copies take, at least its
								 * size */
	int			last_digit;		/* offset of the number's last digit */
	int64		number;			/* its number; -1: no id has been made */
	int			start_len;		/* bytes before the number */
	int			suffix_len;		/* bytes after it */
	char		suffix[1 + HILO_MAX_TAG_LEN];	/* those bytes */
} HiloIdForm;

/*
 * Initialize a form, or initialize it again, with the same context: the id lives
 * there.  The tag may be the one that is in the form.
 */
extern void hilo_id_form_init(HiloIdForm *form, MemoryContext context,
							  const char *start, int start_len,
							  const char *tag, int tag_len);

/* Make form->id the id of number. */
extern void hilo_id_form_set(HiloIdForm *form, int64 number);

/*
 * The id of number, palloc'd in the current memory context.  Whole steps are
 * copied: most ids have one or two, and copies of a known size need no call.
 */
#define HILO_ID_STEP			32

static inline text *
hilo_id_form_make(HiloIdForm *form, int64 number)
{
	char	   *id = form->id;
	char	   *last_digit = id + form->last_digit;
	char	   *copy;

	if (likely(number == form->number + 1 && *last_digit != '9'))
	{
		++*last_digit;
		form->number = number;
	}
	else
		hilo_id_form_set(form, number);

	copy = palloc(form->room);
	if (likely(form->room == HILO_ID_STEP))
		memcpy(copy, id, HILO_ID_STEP);
	else if (form->room == 2 * HILO_ID_STEP)
		memcpy(copy, id, 2 * HILO_ID_STEP);
	else
		memcpy(copy, id, form->room);
	return (text *) copy;
}

/*
 * A server-side id: prefix, the number with 19 digits, and the tag as above.
 * Palloc'd in the current memory context.
 */
extern text *hilo_server_side_id(const char *prefix, int64 number,
								 const char *tag);

/*
 * Find the number in an id.  Returns false if there is none: a semantic id, a
 * GUID, digits beyond 2^63-1.
 */
extern bool hilo_document_id_number(const char *id, int len, int64 *number);

#endif							/* HILO_TEXT_H */
