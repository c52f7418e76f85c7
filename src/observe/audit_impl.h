/*
 * audit_impl.h - the pieces of the audit log, from the bytes up: a line, the
 * file that lines are appended to, and the thread that does it.
 */
#ifndef FW_OBSERVE_AUDIT_IMPL_H
#define FW_OBSERVE_AUDIT_IMPL_H

#include "base/buf.h"
#include "base/digest.h"
#include "observe/audit.h"

#include <sys/types.h>

enum { FW_AUDIT_HASH_LEN = 64, FW_AUDIT_TIME_LEN = 24 };

#define FW_AUDIT_GENESIS "GENESIS"

/* ---- a line (audit_line.c) ---------------------------------------------- */

/* Where a chain stands: its last record. */
struct fw_audit_chain {
	uint64_t seq; /* 0: none yet */
	char hash[FW_AUDIT_HASH_LEN + 1];
};

extern const struct fw_audit_chain fw_audit_genesis;

/* Of both parts, one after the other, in lower-case hex. False: no memory. */
bool fw_audit_hash(struct fw_hasher *hasher, const char *first, size_t first_len,
		   const char *second, size_t second_len, char ret_hex[FW_AUDIT_HASH_LEN + 1]);

/* RFC 3339 in UTC with milliseconds. */
void fw_audit_time(int64_t unix_ms, char ret_text[FW_AUDIT_TIME_LEN + 1]);
int64_t fw_audit_now_ms(void);

/* The members between seq and the arguments, without a comma on either side. */
void fw_audit_put_body(struct fw_buf *out, const struct fw_audit_record *record);
/* ,"args":... or ,"args_hash":"..."; false: no memory. */
bool fw_audit_put_args(struct fw_buf *out, struct fw_hasher *hasher, const char *args,
		       size_t len, bool keep);

/* A line is opened, its members are put, it is sealed: then the chain has moved
 * on. False: no memory; the chain stands where it stood. */
void fw_audit_line_open(struct fw_buf *out, const struct fw_audit_chain *chain,
			size_t *ret_start);
bool fw_audit_line_seal(struct fw_buf *out, size_t start, struct fw_hasher *hasher,
			struct fw_audit_chain *chain);

/* What can be seen of a line without parsing it, for our form is fixed. */
struct fw_audit_mark {
	uint64_t seq;
	const char *prev; /* FW_AUDIT_HASH_LEN bytes, or GENESIS */
	size_t prev_len;
	const char *hash;
	size_t hashed_len; /* the hash is of so many bytes and a brace */
};

/* False: no line of ours. `len` is without the newline. */
bool fw_audit_mark_read(const char *line, size_t len, struct fw_audit_mark *ret_mark);

/* ---- the file (audit_file.c, audit_tail.c) ------------------------------- */

/* Why something could not be done; made into an error where one is wanted. */
struct fw_audit_failure {
	bool is_lock;
	int errnum;        /* 0: `doing` says it all */
	const char *doing; /* static: "could not ..." */
};

enum fw_audit_note_kind {
	FW_AUDIT_NOTE_TORN,
	FW_AUDIT_NOTE_ROTATED,
	FW_AUDIT_NOTE_REPLACED,
	FW_AUDIT_NOTES
};

/* What the next batch has to say first. */
struct fw_audit_note {
	bool is_due;
	char file[256];
	uint64_t bytes;
	char hash[FW_AUDIT_HASH_LEN + 1];
};

struct fw_audit_file {
	char *path;
	int fd;
	bool is_known; /* `size` and `chain` were read from this descriptor */
	bool others;   /* somebody else has appended since we did */
	uint64_t size;
	struct fw_audit_chain chain;
	struct fw_audit_note notes[FW_AUDIT_NOTES];
	uint64_t rotate_bytes;
	uint32_t lock_ms;
	bool sync;
};

/* `path` is copied. False: no memory. */
bool fw_audit_file_init(struct fw_audit_file *file, const char *path);
void fw_audit_file_clear(struct fw_audit_file *file);

/* Open it if it is not, lock it, and know its end: torn lines set aside, full
 * files rotated away. After true, fw_audit_file_end(). */
bool fw_audit_file_begin(struct fw_audit_file *file, struct fw_hasher *hasher,
			 struct fw_audit_failure *ret_failure);
/* All of `text` at the end, or nothing of it. */
bool fw_audit_file_write(struct fw_audit_file *file, const char *text, size_t len,
			 struct fw_audit_failure *ret_failure);
bool fw_audit_file_sync(struct fw_audit_file *file, struct fw_audit_failure *ret_failure);
/* Takes back what was written behind `size`. */
void fw_audit_file_cut(struct fw_audit_file *file, uint64_t size);
void fw_audit_file_end(struct fw_audit_file *file);

/* So that names survive a crash, too. */
bool fw_audit_sync_directory(const char *path);

/* Learn size and chain of the locked file, which has `size` bytes. */
bool fw_audit_tail_read(struct fw_audit_file *file, uint64_t size, struct fw_hasher *hasher,
			struct fw_audit_failure *ret_failure);

static inline bool fw_audit_fail(struct fw_audit_failure *ret_failure, int errnum,
				 const char *doing)
{
	*ret_failure = (struct fw_audit_failure){ .errnum = errnum, .doing = doing };
	return false;
}

FW_NODISCARD fw_error *fw_audit_failure_error(const struct fw_audit_failure *failure);

#endif
