/*
 * audit_head.h - the last record of a log, kept in another place: the log must
 * still contain it, and every record after it must follow (audit_continue.c,
 * audit_head.c).
 */
#ifndef FW_OBSERVE_AUDIT_HEAD_H
#define FW_OBSERVE_AUDIT_HEAD_H

#include "observe/audit/audit_file.h"

/* A record, and where its line ends in its file. */
struct fw_audit_head {
	struct fw_audit_chain chain;
	uint64_t size;
};

/* Does a record with this hash end at this offset? */
bool fw_audit_ends_at(int fd, uint64_t end, const struct fw_audit_chain *chain);
/* Is the known record in the open log, whose complete lines end at `end`, or in a
 * rotated file, and do all records after it follow? Then `ret_chain` is the last
 * record. A record with seq 0 is in every log; `ret_chain` is not set then. */
bool fw_audit_continues(const struct fw_audit_file *file, const struct fw_audit_head *known,
			uint64_t end, struct fw_hasher *hasher,
			struct fw_audit_chain *ret_chain);
bool fw_audit_forged(struct fw_audit_failure *ret_failure, const char *how);

/* The canonical path of a log, which need not exist. False: its folder does not. */
bool fw_audit_real_path(int dir, const char *path, char *ret_path, size_t size);
/* The path of the head file for this log; NULL: none is kept, or no memory. */
const char *fw_audit_file_head(struct fw_audit_file *file);
/* The head file in `heads` for a log; false: no such folder, or the path is too
 * long. */
bool fw_audit_head_path(const char *heads, int dir, const char *log, char *ret_path,
			size_t size);
/* False: nothing is kept there (errno is ENOENT), or it cannot be read. */
bool fw_audit_head_read(const char *path, struct fw_audit_head *ret_head);
bool fw_audit_head_write(const char *path, const struct fw_audit_head *head);

#endif
