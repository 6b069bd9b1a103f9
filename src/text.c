/*-------------------------------------------------------------------------
 *
 * text.c
 *	  The text form of a document id: build, check, split.
 *
 * An id is read by people and by programs of others, and hilo itself finds the number in it
 * again.  What is allowed in its parts follows from that: first the checks of each part, then how
 * an id is put together, and last how it is taken apart.
 *
 * Ids are mostly made one after the other, so that they differ in the last digit.  HiloIdForm
 * is for these: it keeps the id that was made last, and the next one is a copy of it in which one
 * byte has changed.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "utils/builtins.h"

#include "compat.h"
#include "text.h"

/* Decimal digits of 2^63-1. */
#define MAX_NUMBER_LEN		19

/*
 * ASCII only, whatever the locale says; the bytes of other characters are
 * above 0x7f in every server encoding.
 */
#define IS_DIGIT(c)			((c) >= '0' && (c) <= '9')
#define IS_LETTER(c)		(((c) >= 'a' && (c) <= 'z') || \
							 ((c) >= 'A' && (c) <= 'Z'))
#define IS_HEX(c)			(IS_DIGIT(c) || ((c) >= 'a' && (c) <= 'f') || \
							 ((c) >= 'A' && (c) <= 'F'))

/*
 * True if a control character begins at c: of ASCII, or, in encodings that have
 * them, one of C1 (U+0080 to U+009F).
 */
static bool
is_control(const char *c)
{
	unsigned char byte = *c;
	int			encoding = GetDatabaseEncoding();

	if (byte < 0x20 || byte == 0x7f)
		return true;

	/*
	 * In encodings that have no C1, such a byte is a letter or part of a
	 * character.
	 */
	if (encoding == PG_UTF8)
		return byte == 0xc2 && (unsigned char) c[1] < 0xa0;
	return byte >= 0x80 && byte < 0xa0 &&
		((encoding >= PG_LATIN1 && encoding <= PG_LATIN10) ||
		 (encoding >= PG_ISO_8859_5 && encoding <= PG_ISO_8859_8));
}

bool
hilo_ends_with(const char *id, const char *end)
{
	size_t		len = strlen(id);
	size_t		end_len = strlen(end);

	return len >= end_len && strcmp(id + len - end_len, end) == 0;
}

/*
 * Checks that apply to names of collections, identities and prefixes alike; the
 * name has len bytes, and something may follow it.
 *
 * A bar marks the names of identities in the table, so no name may have one.  Control
 * characters would make ids that look alike and are not.
 */
static void
check_name(const char *what, const char *name, int len)
{
	int			allowed = 0;

	if (len == 0)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s name must not be empty", what)));
	if (len > HILO_MAX_NAME_LEN)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s name is too long", what),
				 errdetail("It has %d bytes; the limit is %d.",
						   len, HILO_MAX_NAME_LEN)));

	while (allowed < len && name[allowed] != '|' && !is_control(name + allowed))
		allowed++;
	if (allowed == len)
		return;
	if (name[allowed] == '|')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("%s name \"%.*s\" must not contain \"|\"",
						what, len, name),
				 allowed == 0 || name[allowed + 1] != '\0' ? 0 :
				 errhint("To draw from an identity, use next_identity().")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("%s name must not contain a control character", what),
			 errdetail("Byte %d is 0x%02x.",
					   allowed + 1, (unsigned char) name[allowed])));
}

/* An id orders//10 would be that of collection "orders/" and of "orders" with a prefix "/". */
void
hilo_check_collection(const char *name, const char *separator)
{
	check_name("collection", name, strlen(name));
	if (separator != NULL && hilo_ends_with(name, separator))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("collection name \"%s\" must not end in the separator \"%s\"",
						name, separator),
				 errhint("Leave the separator out: hilo puts it between the collection and the number.")));
}

/* The bar is part of the name that the row has, but not of the name that is checked. */
bool
hilo_check_row_name(const char *name, const char *separator)
{
	bool		is_identity = hilo_ends_with(name, "|");

	if (is_identity)
		check_name("identity", name, strlen(name) - 1);
	else
		hilo_check_collection(name, separator);
	return is_identity;
}

/*
 * An identity can be called as its ids begin, so that a program can pass on what it asks for:
 * companies/ or companies| as well as companies.
 */
void
hilo_identity_name(char *buffer, const char *name, const char *separator)
{
	int			len = strlen(name);

	if (hilo_ends_with(name, "|"))
		len--;
	else if (hilo_ends_with(name, separator))
		len -= strlen(separator);
	check_name("identity", name, len);
	memcpy(buffer, name, len);
	buffer[len] = '\0';
}

/*
 * The prefix ends in the separator because that is how a document asks for a server-side id.  What
 * comes before it is checked as a name, though it may have separators inside.
 */
void
hilo_check_server_side_prefix(const char *prefix, const char *separator)
{
	if (!hilo_ends_with(prefix, separator))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("prefix of a server-side id must end in the separator \"%s\"",
						separator)));
	check_name("prefix", prefix, strlen(prefix) - strlen(separator));
}

/* A tag has no hyphen, so the last hyphen of an id that has a tag is the one before it. */
bool
hilo_is_node_tag(const char *tag, int len)
{
	if (len > HILO_MAX_TAG_LEN)
		return false;
	for (int i = 0; i < len; i++)
	{
		if (!IS_LETTER(tag[i]) && !IS_DIGIT(tag[i]) && tag[i] != '_')
			return false;
	}
	return true;
}

void
hilo_check_node_tag(const char *tag)
{
	int			len = strlen(tag);

	if (!hilo_is_node_tag(tag, len))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid node tag \"%.*s\"",
						pg_mbcliplen(tag, len, NAMEDATALEN), tag),
				 errdetail("A node tag consists of letters, digits and underscores, at most %d.",
						   HILO_MAX_TAG_LEN)));
}

/*
 * True if the string can be part of a text.  While the library is being
 * preloaded, no database is open and its encoding is not known: then the string
 * must be ASCII.
 */
static bool
is_text(const char *string)
{
	if (OidIsValid(MyDatabaseId))
		return pg_verify_mbstr(GetDatabaseEncoding(), string, strlen(string),
							   true);
	for (; *string != '\0'; string++)
	{
		if (IS_HIGHBIT_SET(*string))
			return false;
	}
	return true;
}

/*
 * A letter or digit could not be told from the name or the number beside it, and a bar stands for
 * identities.  The first byte tells, because bytes of ASCII are no part of other characters in any
 * encoding of a server.
 */
bool
hilo_is_separator(const char *separator)
{
	if (separator[0] == '\0' || separator[0] == '|' ||
		IS_LETTER(separator[0]) || IS_DIGIT(separator[0]) ||
		is_control(separator) || !is_text(separator))
		return false;
	return pg_mbstrlen(separator) == 1;
}

/*
 * A prefix that ends in a digit would give different numbers the same id (N1 +
 * 0 and N + 10); after a letter the number would not be found.
 */
bool
hilo_is_server_prefix(const char *prefix)
{
	int			len = strlen(prefix);

	if (len > HILO_MAX_PREFIX_LEN || !is_text(prefix))
		return false;
	for (int i = 0; i < len; i++)
	{
		if (prefix[i] == '|' || is_control(prefix + i))
			return false;
	}
	return len == 0 ||
		!(IS_DIGIT(prefix[len - 1]) || IS_LETTER(prefix[len - 1]));
}

/*
 * Build
 */

/* Copy len bytes to p; returns the end, where the next part goes. */
static inline char *
append(char *p, const char *bytes, int len)
{
	memcpy(p, bytes, len);
	return p + len;
}

/*
 * The buffer of the caller has room for parts that are as long as allowed.  A separator and a prefix
 * come from settings, which were checked; a name comes from anywhere.
 */
int
hilo_document_id_start(char *start, const char *name, const char *separator,
					   const char *prefix)
{
	int			len = strlen(name);
	char	   *p;

	/* A name may come from a row that was written with its guard disabled. */
	if (len > HILO_MAX_NAME_LEN)
		check_name("collection", name, len);
	p = append(start, name, len);
	p = append(p, separator, strlen(separator));
	p = append(p, prefix, strlen(prefix));
	return p - start;
}

/*
 * An id that is made once, and not kept; HiloIdForm is for those that follow each other.  Numbers
 * of counters are not negative, so they have no sign.
 */
text *
hilo_build_id(const char *start, int start_len, int64 number, const char *tag)
{
	int			tag_len = strlen(tag);
	text	   *id = (text *) palloc(VARHDRSZ + start_len + MAX_NUMBER_LEN +
									 1 + tag_len);
	char	   *p = append(VARDATA(id), start, start_len);

	p += pg_ulltoa_n((uint64) number, p);
	if (tag_len > 0)
		p = append(append(p, "-", 1), tag, tag_len);
	SET_VARSIZE(id, p - (char *) id);
	return id;
}

/*
 * The id has room for the longest number, rounded up to whole steps, because copies take whole
 * steps.  Behind its end are zeros, or remains of a longer id, where no reader looks.
 *
 * The tag is copied with memmove, because it may be the one in the form itself.
 */
void
hilo_id_form_init(HiloIdForm *form, MemoryContext context,
				  const char *start, int start_len,
				  const char *tag, int tag_len)
{
	Size		longest = TYPEALIGN(HILO_ID_STEP, VARHDRSZ + start_len +
									MAX_NUMBER_LEN + 1 + tag_len);

	if (form->id != NULL)
		pfree(form->id);
	form->id = NULL;			/* in case there is no memory */
	form->id = MemoryContextAllocZero(context, longest);
	memcpy(form->id + VARHDRSZ, start, start_len);
	form->suffix[0] = '-';
	memmove(form->suffix + 1, tag, tag_len);
	form->start_len = start_len;
	form->suffix_len = tag_len > 0 ? tag_len + 1 : 0;
	form->number = -1;
}

/* Used where more than the last digit changes, as from 9 to 10, which is one id in ten. */
void
hilo_id_form_set(HiloIdForm *form, int64 number)
{
	char	   *p = form->id + VARHDRSZ + form->start_len;
	int			size;

	p += pg_ulltoa_n((uint64) number, p);
	form->last_digit = p - 1 - form->id;
	p = append(p, form->suffix, form->suffix_len);
	size = p - form->id;
	SET_VARSIZE(form->id, size);
	form->room = TYPEALIGN(HILO_ID_STEP, size);
	form->number = number;
}

/*
 * The zeros become part of the start, and the number follows with the digits that it has.  Prefix
 * and number were checked, so all of it fits.
 */
text *
hilo_server_side_id(const char *prefix, int64 number, const char *tag)
{
	int			len = strlen(prefix);
	char		start[HILO_MAX_NAME_LEN + MAX_MULTIBYTE_CHAR_LEN +
					  MAX_NUMBER_LEN];
	char		digits[MAX_NUMBER_LEN + 1];
	int			zeros = MAX_NUMBER_LEN - pg_ulltoa_n((uint64) number, digits);

	memcpy(start, prefix, len);
	memset(start + len, '0', zeros);
	return hilo_build_id(start, len + zeros, number, tag);
}

/*
 * Split
 */

/*
 * True for xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx.  The last group can consist of digits, which are no
 * number of a counter.
 */
static bool
is_guid(const char *id, int len)
{
	if (len != 36)
		return false;
	for (int i = 0; i < len; i++)
	{
		bool		hyphen = i == 8 || i == 13 || i == 18 || i == 23;

		if (hyphen ? id[i] != '-' : !IS_HEX(id[i]))
			return false;
	}
	return true;
}

/* Start of the digits that end id; len if it does not end in digits, or in a word like iphone10. */
static int
trailing_digits(const char *id, int len)
{
	int			start = len;

	while (start > 0 && IS_DIGIT(id[start - 1]))
		start--;

	/*
	 * Digits right after a letter belong to a word, as ids of hilo have a
	 * separator there.
	 */
	if (start > 0 && IS_LETTER(id[start - 1]))
		return len;
	return start;
}

/*
 * Find the digits of the number in an id: from offset first to just before
 * offset of their end.  Returns false if there are none: a semantic id, a GUID.
 */
static bool
find_digits(const char *id, int len, int *first, int *digits_end)
{
	int			hyphen = len - 1;
	int			start = len;
	int			end = len;

	if (is_guid(id, len))
		return false;

	/*
	 * In orders/10-A the tag follows the last hyphen.  But in orders-10,
	 * where the hyphen is the separator, and in orders/10 it is not there. So
	 * first the number is searched for before the hyphen ...
	 */
	while (hyphen >= 0 && id[hyphen] != '-')
		hyphen--;
	if (hyphen >= 0 && hyphen < len - 1 &&
		hilo_is_node_tag(id + hyphen + 1, len - hyphen - 1))
	{
		end = hyphen;
		start = trailing_digits(id, end);
	}

	/* ... and if there is none, at the end of the whole id. */
	if (start == end)
	{
		end = len;
		start = trailing_digits(id, end);
	}
	*first = start;
	*digits_end = end;
	return start < end;
}

/* Digits that are beyond 2^63-1 are part of a semantic id: no counter has got so far. */
bool
hilo_document_id_number(const char *id, int len, int64 *number)
{
	int			start;
	int			end;
	int64		result = 0;

	if (!find_digits(id, len, &start, &end))
		return false;

	for (int i = start; i < end; i++)
	{
		if (pg_mul_s64_overflow(result, 10, &result) ||
			pg_add_s64_overflow(result, id[i] - '0', &result))
			return false;
	}
	*number = result;
	return true;
}

/*
 * The check is made with an id of that name, in which the number must be found where it was put.
 */
void
hilo_check_own_separator(const char *name, const char *separator)
{
	int			len = strlen(separator);
	char		id[HILO_MAX_NAME_LEN + sizeof("_10")];
	int			start;
	int			first;
	int			digits_end;

	if (hilo_ends_with(name, "|"))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("only collections can have their own separator"),
				 errdetail("In identities and server-side ids it is that of hilo.identity_parts_separator.")));
	if (!hilo_is_separator(separator) || separator[1] != '\0' || IS_HIGHBIT_SET(separator[0]))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid separator \"%.*s\"",
						pg_mbcliplen(separator, len, NAMEDATALEN), separator),
				 errdetail("The separator of a collection is one ASCII character other than \"|\", a letter, a digit or a control character.")));
	hilo_check_collection(name, separator);

	/*
	 * What follows a hyphen in the name may look like a node tag.  In ids
	 * that have a tag it does not, but the tag can be left out at any time.
	 */
	start = hilo_document_id_start(id, name, separator, "");
	memcpy(id + start, "10", 2);
	if (!find_digits(id, start + 2, &first, &digits_end) ||
		first != start)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("collection \"%s\" cannot have the separator \"%s\"",
						name, separator),
				 errdetail("hilo_number() would find another number in \"%.*s\".",
						   start + 2, id)));
}
