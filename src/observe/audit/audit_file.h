/*
 * audit_file.h - the file that lines are appended to, shared between processes, and
 * the files that were rotated away from it.
 *
 * The one rule to remember: size and chain of the file are known only between
 * fw_audit_file_begin(), which takes the lock, and fw_audit_file_end().
 */
#ifndef FW_OBSERVE_AUDIT_FILE_H
#define FW_OBSERVE_AUDIT_FILE_H

#include "observe/audit/audit_line.h"

/* Why an operation failed. Turned into an error only when one is needed. */
struct fw_audit_failure {
	bool is_lock;
	bool is_forged;    /* the log does not continue from a known record */
	int errnum;        /* 0: `doing` is the complete reason */
	const char *doing; /* static: "it could not be ..." */
};

enum fw_audit_note_kind {
	FW_AUDIT_NOTE_TORN,
	FW_AUDIT_NOTE_ROTATED,
	FW_AUDIT_NOTE_REPLACED,
	FW_AUDIT_NOTES
};

/* A note that the next batch has to begin with. */
struct fw_audit_note {
	bool is_due;
	char file[256];
	uint64_t bytes;
	char hash[FW_AUDIT_HASH_LEN + 1];
};

struct fw_audit_file {
	char *path;
	const char *heads;          /* folder for the last record, borrowed; NULL: not kept */
	char *head_path;            /* file in that folder; NULL: not known yet */
	struct fw_audit_chain kept; /* the record that is kept there */
	int dir; /* names are looked up in this directory; -1: by the whole path */
	int fd;
	bool is_known; /* `size` and `chain` were read from this descriptor */
	bool others;   /* another process has appended since we did */
	uint64_t size;
	struct fw_audit_chain chain;
	struct fw_audit_note notes[FW_AUDIT_NOTES];
	uint64_t rotate_bytes;
	uint32_t lock_ms;
	bool sync;
};

/* `path` is copied, `dir` is duplicated; -1: none. False: no memory, or no
 * descriptor. */
bool fw_audit_file_init(struct fw_audit_file *file, int dir, const char *path);
void fw_audit_file_clear(struct fw_audit_file *file);

/* Open the file if it is not open, lock it and find its end: torn lines are set
 * aside, full files are rotated. After true, call fw_audit_file_end(). */
bool fw_audit_file_begin(struct fw_audit_file *file, struct fw_hasher *hasher,
			 struct fw_audit_failure *ret_failure);
/* Append all of `text`, or nothing of it. */
bool fw_audit_file_write(struct fw_audit_file *file, const char *text, size_t len,
			 struct fw_audit_failure *ret_failure);
bool fw_audit_file_sync(struct fw_audit_file *file, struct fw_audit_failure *ret_failure);
/* Truncate to `size`, to take back what was written last. */
void fw_audit_file_cut(struct fw_audit_file *file, uint64_t size);
void fw_audit_file_end(struct fw_audit_file *file);

/* The directory and the name by which a path of one of its files is opened. With a
 * directory descriptor, renaming directories above it does not matter. */
int fw_audit_file_at(const struct fw_audit_file *file);
const char *fw_audit_file_name(const struct fw_audit_file *file, const char *path);

/* fw_audit_rotated_range(), in the file's directory. */
FW_NODISCARD fw_error *fw_audit_file_range(const struct fw_audit_file *file,
					   unsigned *ret_first, unsigned *ret_last);

/* fsync the directory, so that new names survive a crash. */
bool fw_audit_sync_directory(const struct fw_audit_file *file);

/* Read size and chain of the locked file, which has `size` bytes. Fails if it does
 * not continue from the record that is known (audit_tail.c). */
bool fw_audit_tail_read(struct fw_audit_file *file, uint64_t size, struct fw_hasher *hasher,
			struct fw_audit_failure *ret_failure);

static inline bool fw_audit_fail(struct fw_audit_failure *ret_failure, int errnum,
				 const char *doing)
{
	*ret_failure = (struct fw_audit_failure){ .errnum = errnum, .doing = doing };
	return false;
}

/* True: waiting or freeing disk space will not help. */
bool fw_audit_is_permanent(const struct fw_audit_failure *failure);
FW_NODISCARD fw_error *fw_audit_failure_error(const struct fw_audit_failure *failure);

#endif
