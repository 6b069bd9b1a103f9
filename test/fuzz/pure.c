/*-------------------------------------------------------------------------
 *
 * pure.c
 *	  Hostile input for the modules that need no server: range, free_search,
 *	  text.
 *
 * For libFuzzer, with the address and undefined behaviour sanitizers.  Each
 * input is cut into the arguments of one function; what the headers promise
 * about the result is checked, in arithmetic that cannot overflow.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>
#include <math.h>
#include <setjmp.h>

#include "datatype/timestamp.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/elog.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#include "free_search.h"
#include "range.h"
#include "text.h"

#undef vsnprintf

extern int	vsnprintf(char *str, size_t size, const char *format, va_list args);
int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * What the modules need of the server
 */

static int	encoding = PG_UTF8;
static sigjmp_buf on_error;

Oid			MyDatabaseId = 1;
volatile sig_atomic_t InterruptPending = false;

void
ProcessInterrupts(void)
{
}

MemoryContext CurrentMemoryContext = NULL;

void *
palloc(Size size)
{
	return malloc(size);
}

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	return calloc(1, size);
}

void
pfree(void *pointer)
{
	free(pointer);
}

int
pg_ulltoa_n(uint64 value, char *a)
{
	char		digits[32];
	int			len = sprintf(digits, UINT64_FORMAT, value);

	memcpy(a, digits, len);
	return len;
}

int
GetDatabaseEncoding(void)
{
	return encoding;
}

bool
pg_verify_mbstr(int enc, const char *mbstr, int len, bool noError)
{
	return pg_encoding_verifymbstr(enc, mbstr, len) == len;
}

int
pg_mbstrlen(const char *mbstr)
{
	int			count = 0;

	for (; *mbstr != '\0'; mbstr += pg_encoding_mblen(encoding, mbstr))
		count++;
	return count;
}

int
pg_mbcliplen(const char *mbstr, int len, int limit)
{
	int			clipped = 0;

	while (clipped < len)
	{
		int			l = pg_encoding_mblen(encoding, mbstr + clipped);

		if (clipped + l > Min(len, limit))
			break;
		clipped += l;
	}
	return clipped;
}

bool
errstart(int elevel, const char *domain)
{
	return true;
}

bool
errstart_cold(int elevel, const char *domain)
{
	return true;
}

int
errcode(int sqlerrcode)
{
	return 0;
}

/* Format it, so that the sanitizers see what is read. */
#define FORMAT_MESSAGE(format) \
	do { \
		char		message[2048]; \
		va_list		args; \
		va_start(args, format); \
		vsnprintf(message, sizeof(message), format, args); \
		va_end(args); \
	} while (0)

int
errmsg(const char *format,...)
{
	FORMAT_MESSAGE(format);
	return 0;
}

int
errdetail(const char *format,...)
{
	FORMAT_MESSAGE(format);
	return 0;
}

int
errhint(const char *format,...)
{
	FORMAT_MESSAGE(format);
	return 0;
}

void
errfinish(const char *filename, int lineno, const char *funcname)
{
	siglongjmp(on_error, 1);
}

/*
 * Arguments out of an input
 */

static const uint8_t *input;
static size_t input_left;

static void
must_be(bool condition, const char *what)
{
	if (!condition)
	{
		fprintf(stderr, "not true: %s\n", what);
		abort();
	}
}

#define MUST(condition)		must_be(condition, #condition)

static int
take_byte(void)
{
	if (input_left == 0)
		return 0;
	input_left--;
	return *input++;
}

/* Extremes and what is next to them more often than chance would have it. */
static int64
take_number(void)
{
	static const int64 centers[] = {
		0, 1, 10, 64, INT_MAX, (int64) INT_MAX + 1, PG_INT64_MAX / 2,
		PG_INT64_MAX / 10, PG_INT64_MAX
	};
	int			kind = take_byte();
	uint64		bits = 0;

	if (kind < 128)
	{
		int64		center = centers[kind % lengthof(centers)];
		int			step = take_byte() % 9 - 4;

		if (step > 0 && center > PG_INT64_MAX - step)
			return center;
		return center + step;
	}
	for (int i = 0; i < 8; i++)
		bits = bits << 8 | take_byte();
	return (int64) (bits >> take_byte() % 64);
}

static int64
take_number_between(int64 low, int64 high)
{
	int64		number = take_number();

	if (number < low)
		return low;
	return number > high ? high : number;
}

/*
 * Bytes in memory of just their length, which end where the sanitizer notices one
 * byte too many.
 */
static char *
take_bytes(int max, int *len)
{
	int			repeat = take_byte();
	int			wanted = take_byte();
	char	   *bytes;

	wanted = Min(wanted, (int) input_left);
	*len = wanted * (repeat < 32 ? repeat + 1 : 1);
	*len = Min(*len, max);
	bytes = malloc(Max(*len, 1));
	for (int i = 0; i < *len; i++)
		bytes[i] = input[i % wanted];
	input += wanted;
	input_left -= wanted;
	return bytes;
}

/* Take bytes as take_bytes() does, and return them as a C string. */
static char *
take_string(int max)
{
	int			len;
	char	   *bytes = take_bytes(max, &len);
	char	   *string = strndup(bytes, len);

	free(bytes);
	return string;
}

/*
 * range.h
 */

static void
try_range_size(void)
{
	int64		last_size = take_number_between(0, PG_INT64_MAX);
	int64		age = take_number();
	int64		duration = take_number_between(0, INT_MAX * INT64CONST(1000));
	int64		min_size = take_number_between(1, INT_MAX);
	int64		max_size = take_number_between(1, INT_MAX);
	int64		size;
	__int128	wanted = last_size;

	if (take_byte() & 1)
		age = age == PG_INT64_MIN ? PG_INT64_MAX : -age;
	size = hilo_range_size(last_size, age, duration, min_size, max_size);
	MUST(size >= 1);
	MUST(size <= max_size);
	MUST(size >= Min(min_size, max_size));

	if (age < duration)
		wanted *= 2;
	else if ((__int128) age > (__int128) duration * 2)
		wanted /= 2;
	if (wanted < min_size)
		wanted = min_size;
	if (wanted > max_size)
		wanted = max_size;
	MUST(size == wanted);
}

/* What is wanted; sets *below to what its range must begin above, if there is one. */
static HiloWanted
take_wanted(int64 max, __int128 *below)
{
	HiloWanted wanted;

	wanted.size = take_number_between(1, INT_MAX);
	wanted.exact = take_byte() & 1;
	wanted.alignment = take_byte() & 1 ? wanted.size : take_number_between(1, INT_MAX);
	wanted.above = take_number_between(0, PG_INT64_MAX);

	*below = Max(max, wanted.above);
	*below = (*below + wanted.alignment - 1) / wanted.alignment * wanted.alignment;
	return wanted;
}

static void
try_range_cut(void)
{
	HiloRange	range = {-5, -7};
	int64		limit = take_number_between(1, PG_INT64_MAX);
	int64		max = take_number_between(0, limit);
	__int128	below;
	HiloWanted wanted = take_wanted(max, &below);
	int64		size;

	if (!hilo_range_cut(&wanted, max, limit, false, &range))
	{
		MUST(below + (wanted.exact ? wanted.size : 1) > limit);
		MUST(range.low == -5 && range.high == -7);
		return;
	}
	MUST(below + (wanted.exact ? wanted.size : 1) <= limit);
	MUST(range.low == below + 1);
	MUST(range.high >= range.low && range.high <= limit);

	size = hilo_range_count(&range);
	MUST(wanted.exact ? size >= wanted.size : size >= 1);
	MUST(size <= wanted.size);
	MUST((wanted.exact && size == wanted.size) ||
		 size <= Max((limit - below) / 64, 1));
}

static void
try_range_cut_piece(void)
{
	HiloRange	range = {-5, -7};
	HiloRange	piece;
	__int128	below;
	HiloWanted wanted;
	bool		fits;

	piece.low = take_number_between(1, PG_INT64_MAX);
	piece.high = take_number_between(piece.low, PG_INT64_MAX);
	wanted = take_wanted(piece.low - 1, &below);
	fits = below + (wanted.exact ? wanted.size : 1) <= piece.high;

	if (!hilo_range_cut(&wanted, piece.low - 1, piece.high, true, &range))
	{
		MUST(!fits);
		MUST(range.low == -5 && range.high == -7);
		return;
	}
	MUST(fits);
	MUST(range.low == below + 1 && range.low >= piece.low);
	MUST(range.high >= range.low && range.high <= piece.high);
	MUST(hilo_range_count(&range) == wanted.size ||
		 (!wanted.exact && hilo_range_count(&range) < wanted.size &&
		  range.high == piece.high));
}

static void
try_rate(void)
{
	double		value = (double) take_number_between(0, PG_INT64_MAX);
	int64		elapsed = take_number();
	int64		unit = take_number_between(1, PG_INT64_MAX);
	double		result;

	if (take_byte() & 1)
		elapsed = -elapsed;
	result = hilo_rate_decay(value, elapsed, unit);
	MUST(result >= 0 && result <= value);
	MUST(elapsed > 0 || result == value);
}

/*
 * free_search.h
 */

typedef struct Documents
{
	int64		contiguous_to;	/* all up to that are taken, */
	uint8_t		pattern[32];	/* and by the bits of this those that follow */
	int64		last;
	int64		limit;
} Documents;

static bool
is_taken(int64 number, void *arg)
{
	Documents  *documents = arg;
	uint64		behind;

	MUST(number > documents->last && number <= documents->limit);
	if (number <= documents->contiguous_to)
		return true;
	behind = (uint64) (number - documents->contiguous_to - 1);
	if (behind >= sizeof(documents->pattern) * 8)
		return false;
	return documents->pattern[behind / 8] >> (behind % 8) & 1;
}

static void
try_free_search(void)
{
	Documents	documents;
	int64		result;
	int			tries = 0;
	bool		scattered = false;

	documents.limit = take_number_between(1, PG_INT64_MAX);
	documents.last = take_number_between(0, documents.limit);
	documents.contiguous_to = take_number_between(0, PG_INT64_MAX);
	for (size_t i = 0; i < sizeof(documents.pattern); i++)
	{
		documents.pattern[i] = take_byte();
		scattered |= documents.pattern[i] != 0;
	}

	result = hilo_free_search(documents.last, documents.limit, is_taken,
							  &documents, &tries);
	if (result != 0)
	{
		MUST(result > documents.last && result <= documents.limit);
		MUST(!is_taken(result, &documents));
		MUST(result == documents.last + 1 || is_taken(result - 1, &documents));
		if (!scattered)
			MUST(result == Max(documents.last, documents.contiguous_to) + 1);
	}
	else if (!scattered)
		MUST(documents.last >= documents.limit ||
			 documents.contiguous_to >= documents.limit);
	MUST(tries <= 3 * 64);

	/* Ids in a row, and the limit far off: 64 for a billion. */
	if (!scattered && result != 0 && result <= documents.limit / 8)
		MUST(tries <= 2 * ceil(log2(result - documents.last)) + 4);
}

/*
 * text.h
 */

/* Does the check accept it?  It may raise 22023. */
#define IS_ACCEPTED(check) \
	(sigsetjmp(on_error, 0) == 0 ? ((void) (check), true) : false)

static void
check_good_name(const char *name, int len)
{
	MUST(len > 0 && len <= HILO_MAX_NAME_LEN);
	for (int i = 0; i < len; i++)
		MUST((unsigned char) name[i] >= 0x20 && name[i] != 0x7f && name[i] != '|');
}

/* The number of any id, compared with a slower reading of the same rules. */
static void
try_any_id(void)
{
	int			len;
	char	   *id = take_bytes(4096, &len);
	int64		number = -5;

	if (hilo_document_id_number(id, len, &number))
	{
		char		digits[32];
		int			digits_len = sprintf(digits, INT64_FORMAT, number);
		bool		found = false;

		/* It stands there, perhaps behind zeros, and not behind a letter. */
		MUST(number >= 0);
		for (int end = len; !found && end >= digits_len; end--)
		{
			int			start = end - digits_len;

			if (memcmp(id + start, digits, digits_len) != 0)
				continue;
			while (start > 0 && id[start - 1] == '0')
				start--;
			found = (end == len || id[end] == '-') &&
				(start == 0 || !isalnum((unsigned char) id[start - 1]));
		}
		MUST(found);
	}
	else
		MUST(number == -5);
	free(id);
}

/*
 * Can what an id starts with be read as number and hyphen?  Who does not know
 * the tag takes 5-x_10 for number 5 with the tag x_10.
 */
static bool
is_ambiguous(const char *start, int len, int tag_len)
{
	return tag_len > 0 ? len > 0 && start[len - 1] == '-' :
		memchr(start, '-', len) != NULL;
}

/*
 * Ids made one after the other are as those built one by one: number, which has
 * the id expected, after some others.
 */
static void
check_form(const char *start, int start_len, int64 number,
		   const char *tag, const text *expected)
{
	HiloIdForm	form = {0};
	text	   *id;

	hilo_id_form_init(&form, CurrentMemoryContext, start, start_len,
					  tag, strlen(tag));
	for (int64 before = number > 12 ? number - 12 : 1; before < number; before++)
		free(hilo_id_form_make(&form, before));
	id = hilo_id_form_make(&form, number);
	MUST(VARSIZE(id) == VARSIZE(expected) &&
		 memcmp(id, expected, VARSIZE(expected)) == 0);
	free(id);
	free(form.id);
}

static void
try_built_id(void)
{
	int			len;
	int			tag_len;
	char	   *volatile name = take_string(2 * HILO_MAX_NAME_LEN);
	char	   *volatile separator = take_string(8);
	char	   *volatile prefix = take_string(2 * HILO_MAX_PREFIX_LEN);
	char	   *volatile tag = take_string(2 * HILO_MAX_TAG_LEN);
	int64		number = take_number_between(1, PG_INT64_MAX);
	char		rest[HILO_MAX_NAME_LEN + 1];

	len = strlen(name);
	tag_len = strlen(tag);
	if (hilo_is_separator(separator))
	{
		MUST(strlen(separator) <= MAX_MULTIBYTE_CHAR_LEN);
		if (IS_ACCEPTED(hilo_identity_name(rest, name, separator)))
		{
			int			rest_len = strlen(rest);

			MUST(strncmp(name, rest, rest_len) == 0);
			MUST(rest_len == len || rest_len == len - 1 ||
				 rest_len == len - (int) strlen(separator));
			check_good_name(rest, rest_len);
		}

		if (IS_ACCEPTED(hilo_check_row_name(name, separator)))
			check_good_name(name, name[len - 1] == '|' ? len - 1 : len);

		if (IS_ACCEPTED(hilo_check_server_side_prefix(name, separator)))
		{
			text	   *id;

			check_good_name(name, len - strlen(separator));
			id = hilo_server_side_id(name, number, "A");
			MUST(VARSIZE_ANY_EXHDR(id) == (Size) len + 19 + 2);
			free(id);
		}

		/* Without a tag the number is found, but for what looks like a GUID. */
		if (IS_ACCEPTED(hilo_check_own_separator(name, separator)))
		{
			char		start[HILO_MAX_START_LEN];
			int64		again;
			text	   *id;

			MUST(strlen(separator) == 1);
			check_good_name(name, len);
			id = hilo_build_id(start, hilo_document_id_start(start, name, separator, ""),
							   number, "");
			MUST((separator[0] == '-' && VARSIZE_ANY_EXHDR(id) == 36) ||
				 (hilo_document_id_number(VARDATA(id), VARSIZE_ANY_EXHDR(id), &again) &&
				  again == number));
			free(id);
		}

		if (IS_ACCEPTED(hilo_check_collection(name, separator)) &&
			IS_ACCEPTED(hilo_check_node_tag(tag)) &&
			hilo_is_server_prefix(prefix))
		{
			char		start[HILO_MAX_START_LEN];
			int			start_len;
			int			rest_start;
			char	   *before;
			text	   *id;
			int64		again;

			check_good_name(name, len);
			MUST(tag_len <= HILO_MAX_TAG_LEN);
			start_len = hilo_document_id_start(start, name, separator, prefix);
			MUST(start_len == len + (int) strlen(separator) + (int) strlen(prefix));
			/* In memory of just their length. */
			before = malloc(start_len);
			memcpy(before, start, start_len);
			id = hilo_build_id(before, start_len, number, tag);
			check_form(before, start_len, number, tag, id);

			rest_start = len + strlen(separator);
			MUST(is_ambiguous(before, start_len, tag_len) ||
				 (hilo_document_id_number(VARDATA(id), VARSIZE(id) - VARHDRSZ, &again) &&
				  again == number));
			MUST(is_ambiguous(prefix, strlen(prefix), tag_len) ||
				 (hilo_document_id_number(VARDATA(id) + rest_start,
										  VARSIZE(id) - VARHDRSZ - rest_start, &again) &&
				  again == number));
			free(before);
			free(id);
		}
	}
	free(name);
	free(separator);
	free(prefix);
	free(tag);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const int encodings[] = {
		PG_UTF8, PG_SQL_ASCII, PG_LATIN1, PG_EUC_JP, PG_EUC_TW,
#if PG_VERSION_NUM < 190000
		PG_MULE_INTERNAL
#endif
	};

	input = data;
	input_left = size;
	encoding = encodings[take_byte() % lengthof(encodings)];
	switch (take_byte() % 8)
	{
		case 0:
			try_range_size();
			break;
		case 1:
			try_range_cut();
			break;
		case 2:
			try_rate();
			break;
		case 3:
			try_free_search();
			break;
		case 4:
			try_any_id();
			break;
		case 5:
			try_range_cut_piece();
			break;
		default:
			try_built_id();
	}
	return 0;
}
