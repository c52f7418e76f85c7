/*
 * incident_file.h - incidents that wait on the disk while the store is away.
 *
 * A server appends to a file of its own, which it keeps locked. Files that a killed server
 * left behind are adopted by the next one and delivered first. Incidents leave in the
 * order in which they came. A file is delivered from its beginning after a restart: the
 * store knows how far its writer got, and skips what it has (store/incident_row.h).
 *
 * The one rule to remember: an incident is in the file, or in the store, or in both; never
 * in neither.
 */
#ifndef FW_OBSERVE_INCIDENT_FILE_H
#define FW_OBSERVE_INCIDENT_FILE_H

#include "store/store.h"

struct fw_incident_file;

/* `directory` exists. Files are made when they are needed. Raises
 * internal.out_of_memory. */
FW_NODISCARD fw_error *fw_incident_file_new(const char *directory, int64_t writer,
					    struct fw_incident_file **ret_file);
/* Files that are not empty stay. NULL is a no-op. */
void fw_incident_file_free(struct fw_incident_file *file);

/* Appends all of them, or none. Raises what fw_error_from_errno() does (ENOSPC also at
 * FW_LIMIT_INCIDENT_FILE_BYTES). */
FW_NODISCARD fw_error *fw_incident_file_append(struct fw_incident_file *file,
					       fw_incident_next_fn *next, void *ctx);

/* Delivers one part of what waits. Raises what fw_store_add_incidents() does; then
 * everything waits on. */
FW_NODISCARD fw_error *fw_incident_file_deliver(struct fw_incident_file *file,
						struct fw_store *store, uint64_t *ret_count);

bool fw_incident_file_is_empty(const struct fw_incident_file *file);
/* Incidents in the file of this server; those of adopted files are not counted. */
uint64_t fw_incident_file_count(const struct fw_incident_file *file);
uint64_t fw_incident_file_bytes(const struct fw_incident_file *file);

#endif
