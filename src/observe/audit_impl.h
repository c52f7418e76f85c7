/*
 * audit_impl.h - the pieces of the audit log, from the bytes up: a line, the
 * file that lines are appended to, and the thread that does it.
 */
#ifndef FW_OBSERVE_AUDIT_IMPL_H
#define FW_OBSERVE_AUDIT_IMPL_H

#include "base/buf.h"
#include "base/clock.h"
#include "base/digest.h"
#include "observe/audit.h"
#include "policy/rate.h"

#include <pthread.h>
#include <stdatomic.h>

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
	bool is_forged;    /* it does not go on from a record that is known */
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

/* A record, and where its line ends in its file. */
struct fw_audit_head {
	struct fw_audit_chain chain;
	uint64_t size;
};

struct fw_audit_file {
	char *path;
	const char *heads;          /* folder for the last record, borrowed; NULL: not kept */
	char *head_path;            /* in there; NULL: not known yet */
	struct fw_audit_chain kept; /* what is kept there */
	int dir; /* all names are looked up in there; -1: the path is, each time */
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

/* `path` is copied, `dir` is not taken over; -1: none. False: no memory, or no
 * descriptor. */
bool fw_audit_file_init(struct fw_audit_file *file, int dir, const char *path);
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

/* Where a path of one of its files is to be looked up, and by which name. A name
 * alone leads nowhere else, whatever becomes of the directories above. */
int fw_audit_file_at(const struct fw_audit_file *file);
const char *fw_audit_file_name(const struct fw_audit_file *file, const char *path);

/* fw_audit_rotated_range(), in the file's directory. */
FW_NODISCARD fw_error *fw_audit_file_range(const struct fw_audit_file *file,
					   unsigned *ret_first, unsigned *ret_last);

/* So that names survive a crash, too. */
bool fw_audit_sync_directory(const struct fw_audit_file *file);

/* Learn size and chain of the locked file, which has `size` bytes. Fails where it
 * does not go on from the record that is known. */
bool fw_audit_tail_read(struct fw_audit_file *file, uint64_t size, struct fw_hasher *hasher,
			struct fw_audit_failure *ret_failure);

/* ---- going on from a known record (audit_continue.c, audit_head.c) --------- */

/* Does a record with this hash end at this place? */
bool fw_audit_ends_at(int fd, uint64_t end, const struct fw_audit_chain *chain);
/* Is the record in the open log, whose whole lines end at `end`, or in a rotated
 * file, and does all that comes after it follow? Tells the last record then. A
 * record with seq 0 is in every log; `ret_chain` is not set then. */
bool fw_audit_continues(const struct fw_audit_file *file, const struct fw_audit_head *known,
			uint64_t end, struct fw_hasher *hasher,
			struct fw_audit_chain *ret_chain);
bool fw_audit_forged(struct fw_audit_failure *ret_failure, const char *how);

/* The path of the file for this log; NULL: nothing is kept, or no memory. */
const char *fw_audit_file_head(struct fw_audit_file *file);
/* The file in `heads` for a log; false: there is no such folder, or no place. */
bool fw_audit_head_path(const char *heads, int dir, const char *log, char *ret_path,
			size_t size);
/* False: nothing is kept there (errno is ENOENT), or it cannot be read. */
bool fw_audit_head_read(const char *path, struct fw_audit_head *ret_head);
bool fw_audit_head_write(const char *path, const struct fw_audit_head *head);

static inline bool fw_audit_fail(struct fw_audit_failure *ret_failure, int errnum,
				 const char *doing)
{
	*ret_failure = (struct fw_audit_failure){ .errnum = errnum, .doing = doing };
	return false;
}

/* Of one more stranger: is it to be recorded (audit.c)? If not it is counted. */
bool fw_audit_take_stranger(struct fw_audit *audit);

/* It never heals by itself (audit.c). */
bool fw_audit_is_hopeless(const struct fw_audit_failure *failure);
FW_NODISCARD fw_error *fw_audit_failure_error(const struct fw_audit_failure *failure);

/* ---- the queue and its thread (audit.c, audit_writer.c) ------------------- */

/* A record, or (with `move`) another file from here on. */
struct fw_audit_item {
	struct fw_audit_item *next;
	fw_audit_done *done;
	void *ctx;
	struct fw_audit_file *move;
	struct fw_buf body;
	char *args; /* hashed by the thread: they may be long */
	size_t args_len;
};

struct fw_audit {
	struct fw_audit_options options;
	char *heads; /* a copy of the option */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wanted; /* by the thread: work, or the end */
	pthread_cond_t told;   /* to others: opened, or over */
	struct fw_audit_item *first;
	struct fw_audit_item **last;
	uint64_t waiting;
	uint64_t waiting_bytes;
	uint64_t quota; /* the thread is woken when so many wait */
	bool is_closing;
	bool is_abandoned; /* nobody waits for the thread, or for what it says */
	bool is_tried;     /* the first attempt has been made */
	bool is_over;
	struct fw_audit_failure failure; /* the last */
	/* Strangers, under the lock: how many there may be, how many of them were
	 * left out since when (by either clock), and in all. */
	struct fw_rate strangers;
	uint64_t left_out;
	int64_t left_out_ms;
	int64_t left_out_since_ms;
	uint64_t left_out_all;
	/* The thread's: a note of so many is in this batch; it is to be. */
	uint64_t left_out_told;
	bool owes_note;
	uint64_t records, lost, batches;
	atomic_uint_fast64_t syncs;
	atomic_bool is_down;
	atomic_uint moves; /* to files that nothing is known of yet */
	/* The thread's own: */
	struct fw_audit_file *file;
	struct fw_hasher *hasher;
	struct fw_buf batch;
	int64_t down_since_ms;
	uint64_t lost_since;
	bool is_dirty; /* written and not synced */
	int64_t synced_ms;
	int64_t sync_ns;     /* what an fdatasync takes, about */
	uint64_t last_count; /* records of the last batch */
	uint64_t crowd;      /* and with them those that waited behind it */
};

/* fw_audit_append(), but `args` is taken over if it succeeds. */
FW_NODISCARD fw_error *fw_audit_append_taking(struct fw_audit *audit,
					      const struct fw_audit_record *record, char *args,
					      size_t args_len, fw_audit_done *done, void *ctx);

/* What the thread runs, with the audit as its argument. */
void *fw_audit_work(void *arg);
void fw_audit_item_free(struct fw_audit_item *item);
/* With the thread gone, or from it. */
void fw_audit_destroy(struct fw_audit *audit);

#endif
