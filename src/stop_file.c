/*-------------------------------------------------------------------------
 *
 * stop_file.c
 *	  What shared memory leaves to the next start of the server.
 *
 * The file names the shutdown checkpoint that it belongs to.  The control file
 * says whether that is still the last thing that has happened here: every start
 * and every stop writes a checkpoint of its own.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "catalog/pg_control.h"
#include "common/controldata_utils.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "port/pg_crc32c.h"
#include "storage/fd.h"
#include "utils/memutils.h"

#include "failure_point.h"
#include "stop_file.h"

/* Relative to the data directory, in which a postmaster works. */
#define STOP_FILE		PGSTAT_STAT_PERMANENT_DIRECTORY "/hilo_parked.stat"
#define STOP_FILE_TMP	STOP_FILE ".tmp"

/* The stop of a server. */
typedef struct StopPoint
{
	uint64		system_identifier;
	XLogRecPtr	checkpoint;
	pg_time_t	time;
	TimeLineID	timeline;
} StopPoint;

typedef struct StopFileHeader
{
	uint64		format;
	StopPoint	stop;
	uint32		size;			/* of the data that follow */
	pg_crc32c	crc;			/* of these */
} StopFileHeader;

/*
 * Read the point at which the server was stopped; false if it was not, or not
 * in order.
 */
static bool
read_stop_point(StopPoint *stop)
{
	bool		crc_ok;
	ControlFileData *control = get_controlfile(DataDir, &crc_ok);
	bool		stopped = crc_ok && control->state == DB_SHUTDOWNED;

	memset(stop, 0, sizeof(*stop));
	stop->system_identifier = control->system_identifier;
	stop->checkpoint = control->checkPoint;
	stop->time = control->checkPointCopy.time;
	stop->timeline = control->checkPointCopy.ThisTimeLineID;
	pfree(control);
	return stopped;
}

static pg_crc32c
checksum(const void *data, uint32 size)
{
	pg_crc32c	crc;

	INIT_CRC32C(crc);
	COMP_CRC32C(crc, data, size);
	FIN_CRC32C(crc);
	return crc;
}

static bool
write_and_sync(FILE *file, const StopFileHeader *header, const void *data)
{
	return fwrite(header, sizeof(*header), 1, file) == 1 &&
		fwrite(data, header->size, 1, file) == 1 &&
		fflush(file) == 0 && pg_fsync(fileno(file)) == 0;
}

void
hilo_stop_file_write(uint64 format, const void *data, uint32 size)
{
	StopFileHeader header;
	FILE	   *file;
	bool		written;

	memset(&header, 0, sizeof(header));
	if (size == 0 || !read_stop_point(&header.stop))
		return;
	header.format = format;
	header.size = size;
	header.crc = checksum(data, size);

	file = AllocateFile(STOP_FILE_TMP, PG_BINARY_W);
	written = file != NULL && write_and_sync(file, &header, data);
	if (!written)
		ereport(LOG,
				(errcode_for_file_access(),
				 errmsg("could not write file \"%s\": %m", STOP_FILE_TMP)));
	if (file != NULL)
		FreeFile(file);

	HILO_KILL_POINT("stop file written");
	if (!written)
		unlink(STOP_FILE_TMP);
	else
		(void) durable_rename(STOP_FILE_TMP, STOP_FILE, LOG);
}

static bool
is_there(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static bool
is_same_stop(const StopPoint *a, const StopPoint *b)
{
	return a->system_identifier == b->system_identifier &&
		a->checkpoint == b->checkpoint && a->time == b->time &&
		a->timeline == b->timeline;
}

/* Read the data of the file, if it is whole and belongs to the last stop. */
static void *
read_file(FILE *file, uint64 format, uint32 *size)
{
	StopFileHeader header;
	StopPoint	stop;
	void	   *data;

	if (fread(&header, sizeof(header), 1, file) != 1 ||
		header.format != format ||
		!AllocSizeIsValid(header.size) ||
		!read_stop_point(&stop) ||
		!is_same_stop(&stop, &header.stop))
		return NULL;

	data = palloc(header.size);
	if (fread(data, header.size, 1, file) != 1 ||
		checksum(data, header.size) != header.crc)
	{
		pfree(data);
		return NULL;
	}
	*size = header.size;
	return data;
}

void *
hilo_stop_file_read(uint64 format, uint32 *size)
{
	FILE	   *file = AllocateFile(STOP_FILE, PG_BINARY_R);
	void	   *data;

	if (file == NULL)
		return NULL;
	data = read_file(file, format, size);
	FreeFile(file);
	HILO_KILL_POINT("stop file read");

	/*
	 * First it must be gone for good: if it came back after a crash, what was
	 * in it would be used twice.
	 */
	if (durable_unlink(STOP_FILE, LOG) != 0)
		return NULL;
	HILO_KILL_POINT("stop file removed");

	/*
	 * A copy of a stopped server that becomes a standby will hear from the
	 * original what was drawn there since.
	 */
	if (is_there(STANDBY_SIGNAL_FILE) || is_there(RECOVERY_SIGNAL_FILE) ||
		is_there(BACKUP_LABEL_FILE))
		return NULL;
	return data;
}
