/*-------------------------------------------------------------------------
 *
 * stop_file.h
 *	  What shared memory leaves to the next start of the server.
 *
 * For the postmaster only.  What is written after a clean stop can be read by
 * the start that follows it, once: not after anything else has happened to the
 * data directory, and not by a standby or a recovery from a backup.
 *
 *-------------------------------------------------------------------------
 */
#ifndef HILO_STOP_FILE_H
#define HILO_STOP_FILE_H

/*
 * Write the file, if the server has been shut down in order.  Failures are
 * logged, and leave no file.  format is to change with the meaning of the data.
 */
extern void hilo_stop_file_write(uint64 format, const void *data, uint32 size);

/*
 * Remove the file, and return what was in it if it may be used; else NULL.
 */
extern void *hilo_stop_file_read(uint64 format, uint32 *size);

#endif							/* HILO_STOP_FILE_H */
