/*
 * incident_file.h - incidents on the disk: those that wait while a shared store is unavailable,
 * and those of the last milliseconds, for the case that the server is killed.
 *
 * A server has a file to which it appends while the store is unavailable, and two mirrors of
 * the queue in memory (spool/spool.h). It keeps all of them locked. Files that a killed server
 * left behind are adopted by the next one, all of one writer or none, and delivered first, in
 * the order of their numbers. They are delivered from their beginning: the store knows how far
 * their writer got, and skips what it has (store/incident_row.h).
 *
 * The one rule to remember: an incident is in the file, or in the store, or in both; never
 * in neither.
 */
#ifndef FW_OBSERVE_INCIDENT_FILE_H
#define FW_OBSERVE_INCIDENT_FILE_H

#include "observe/spool/spool.h"
#include "store/store.h"

struct fw_incident_file;

/* Files are named STEM-*.waiting, and made when they are needed; their directory exists.
 * Adopts what killed servers left. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_incident_file_new(const char *stem, int64_t writer,
					    struct fw_incident_file **ret_file);
/* Files that are not empty stay. NULL is a no-op. */
void fw_incident_file_free(struct fw_incident_file *file);

/* Makes the mirrors of a spool whose records are those of incident_record.h; does nothing if
 * they are made. Between fw_spool_begin() and fw_spool_end(), so it may be another thread
 * than that of the other functions. Returns 0, or the errno; then call it again. */
int fw_incident_file_mirror(struct fw_incident_file *file, struct fw_spool *spool);

/* Appends all of the batch, or nothing. Raises what fw_error_from_errno() does (ENOSPC also
 * at FW_LIMIT_INCIDENT_FILE_BYTES). */
FW_NODISCARD fw_error *fw_incident_file_append(struct fw_incident_file *file,
					       const struct fw_spool_batch *batch);

/* Delivers one part of what waits. Raises what fw_store_add_incidents() does; then
 * everything waits on. */
FW_NODISCARD fw_error *fw_incident_file_deliver(struct fw_incident_file *file,
						struct fw_store *store, uint64_t *ret_count);

/* Were files not adopted because they were locked? A process that ends holds its locks a
 * little longer, so try again later. */
bool fw_incident_file_has_rest(const struct fw_incident_file *file);
void fw_incident_file_adopt_rest(struct fw_incident_file *file);

bool fw_incident_file_is_empty(const struct fw_incident_file *file);
/* Incidents in the file of this server; those of adopted files are not counted. */
uint64_t fw_incident_file_count(const struct fw_incident_file *file);
uint64_t fw_incident_file_bytes(const struct fw_incident_file *file);

#endif
