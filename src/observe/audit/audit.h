/*
 * audit.h - the audit log: one JSON line per failure and per change, chained by
 * hashes, on disk before the reply is sent.
 *
 * Appending never blocks: records are queued, and one thread per log writes all queued
 * records with one write and one fdatasync (group commit). Several processes may share
 * a log: each locks the file for one batch and continues after the last record.
 * docs/audit.md has the format.
 *
 * The one rule to remember: a record exists only after its `done` was called without an
 * error.
 */
#ifndef FW_OBSERVE_AUDIT_H
#define FW_OBSERVE_AUDIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/observe.h>
#include <faultwire/observer.h>

struct fw_audit;

/* ---- records ------------------------------------------------------------ */

enum fw_audit_event {
	FW_AUDIT_FAILURE, /* of a call: `error` */
	FW_AUDIT_CHANGE,  /* state was changed */
	FW_AUDIT_NOTE     /* about the log itself, or by an operator: `reason` */
};

/* Borrowed during the call. Unset members are zero; scope, incident and time of
 * `error` need not be repeated. */
struct fw_audit_record {
	enum fw_audit_event event;
	const fw_error *error;
	const char *tool_name;
	const char *path; /* what it was about, unless the context of `error` says it */
	/* The paths of a call that is about several, in turn; NULL: there are no more. May be
	 * NULL itself. */
	const char *(*path_at)(const void *ctx, size_t at);
	const void *path_ctx;
	const char *intent; /* why, in the caller's words */
	fw_scope scope;     /* its `tool` and `operation` are ignored */
	const char *args;   /* the arguments as compact JSON; NULL: none */
	size_t args_len;
	const char *reason; /* of a note */
	int64_t unix_ms;    /* 0: now */
};

/* ---- lifecycle ---------------------------------------------------------- */

/* All zero: the defaults. */
struct fw_audit_options {
	enum fw_audit_sync sync;
	uint32_t interval_ms;  /* 0: FW_LIMIT_AUDIT_INTERVAL_MS */
	uint64_t rotate_bytes; /* 0: FW_LIMIT_AUDIT_FILE_BYTES; UINT64_MAX: never */
	uint32_t lock_ms;      /* how long to wait for the lock; 0: FW_LIMIT_AUDIT_LOCK_MS */
	uint32_t batch_most;   /* records of one fdatasync; 0: as many as fit */
	const char *heads;     /* directory for the last record; NULL: not kept */
	bool keep_args;        /* record redacted arguments instead of their hash */
	bool guard_reads;      /* refuse all tools while the log cannot be written */
	/* Adds what the observer does not know about a call (role, plan...); may be
	 * NULL. Called on the server's thread. Strings that it sets must be valid until
	 * the next call. */
	void (*describe)(void *ctx, const fw_outcome *outcome, struct fw_audit_record *record);
	void *describe_ctx;
};

/*
 * Opens or creates the log at `path`, moves an incomplete last line to another file,
 * and starts the thread. With a full disk or a held lock it succeeds, but the audit is
 * down (fw_audit_is_up) until writing works. Raises audit.log_failed with the cause if
 * the path can never be a log (no directory, no permission, a symbolic link, not a
 * regular file, a file with other content), governance.invariant_violation if the log
 * does not contain the record in `heads`, internal.out_of_memory. The audit is yours,
 * for fw_audit_close().
 */
FW_NODISCARD fw_error *fw_audit_open(const char *path, const struct fw_audit_options *options,
				     struct fw_audit **ret_audit);

/*
 * Writes queued records and ends the thread. False: the disk took longer than
 * FW_LIMIT_AUDIT_CLOSE_MS. Then `done` is not called any more, and objects that it uses
 * (a server with held replies) must not be freed. NULL is a no-op.
 */
bool fw_audit_close(struct fw_audit *audit);

/*
 * Records appended from now on go to the log at `path`. With `dir` (a descriptor of a
 * directory, duplicated; -1: none) only the last component of the path is used, in that
 * directory, even if it is renamed. From any thread, without disk access. If the log
 * cannot be opened, the audit is down until it can. Raises internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_audit_move(struct fw_audit *audit, int dir, const char *path);

/* ---- appending ---------------------------------------------------------- */

/* On the writer's thread. `err` is yours: NULL, audit.log_failed,
 * audit.lock_failed, or governance.invariant_violation (AUDIT_LOG_CONTINUES): the
 * log does not continue from the last record, and is not written. */
typedef void fw_audit_done(void *ctx, fw_error *err);

/*
 * From any thread, without blocking. If it fails, `done` is not called. Raises
 * internal.out_of_memory, audit.log_failed (the queue is full).
 */
FW_NODISCARD fw_error *fw_audit_append(struct fw_audit *audit,
				       const struct fw_audit_record *record,
				       fw_audit_done *done, void *ctx);

/* The same, and waits for the result: for commands, not for a server's thread. */
FW_NODISCARD fw_error *fw_audit_append_wait(struct fw_audit *audit,
					    const struct fw_audit_record *record);

/* ---- a server ----------------------------------------------------------- */

/*
 * An observer that records every failure and every success of a tool that
 * changes state, holds their replies until they are written, and refuses tools
 * that change state while the audit is down. Close the audit after
 * fw_server_run() and before fw_server_free().
 */
fw_observer fw_audit_observer(struct fw_audit *audit);

/* ---- health ------------------------------------------------------------- */

struct fw_audit_health {
	bool is_up;
	uint64_t records;    /* written */
	uint64_t lost;       /* refused, because they could not be written */
	uint64_t batches;    /* writes */
	uint64_t syncs;      /* fdatasyncs */
	uint64_t waiting;    /* in the queue now */
	uint64_t left_out;   /* unauthenticated requests over FW_LIMIT_AUDIT_UNAUTHENTICATED */
	const char *failure; /* why it is down, such as "ENOSPC"; NULL: it is up */
};

void fw_audit_health(struct fw_audit *audit, struct fw_audit_health *ret_health);
bool fw_audit_is_up(const struct fw_audit *audit);

/* ---- verifying ---------------------------------------------------------- */

enum fw_audit_fault {
	FW_AUDIT_WHOLE,
	FW_AUDIT_BAD_JSON,      /* a line that is not JSON, or not a record */
	FW_AUDIT_BAD_HASH,      /* a line that was changed */
	FW_AUDIT_BAD_CHAIN,     /* a line that does not follow the one before it */
	FW_AUDIT_BAD_SEQUENCE,  /* lines are missing, or out of order */
	FW_AUDIT_TORN,          /* the last line has no end */
	FW_AUDIT_NOT_FROM_START /* the first file does not begin with record 1 */
};

/* "bad_json", "hash", "chain", "sequence", "torn", "start". */
const char *fw_audit_fault_name(enum fw_audit_fault fault);

struct fw_audit_report {
	enum fw_audit_fault fault; /* the first one; lines after it were not read */
	char file[256];            /* its name, without the directory */
	uint64_t line;             /* of that file, from 1 */
	char reason[320];          /* in words */
	/* What was verified: */
	uint64_t files;
	uint64_t records;
	uint64_t bytes;
	uint64_t first_seq; /* 0: the log is empty */
	uint64_t last_seq;
	char last_hash[65];
};

struct fw_audit_verify_options {
	bool partial; /* accept a log whose oldest files are elsewhere */
	/* Called repeatedly; may be NULL. */
	void (*progress)(void *ctx, uint64_t records, uint64_t bytes, uint64_t total);
	void *ctx;
	/* Called for each intact record, in their order; may be NULL. */
	void (*record)(void *ctx, uint64_t seq, const char *hash);
	void *record_ctx;
};

/*
 * Verifies the log at `path` and its rotated files, oldest first, in constant memory. A
 * broken chain is in the report, and is not an error.
 * Raises what fw_error_from_errno() does, internal.out_of_memory.
 */
FW_NODISCARD fw_error *fw_audit_verify(const char *path,
				       const struct fw_audit_verify_options *options,
				       struct fw_audit_report *ret_report);

/* ---- the last record in another place ------------------------------------------ */

/* The number of the record in `heads` (0: none), and whether the log contains it.
 * Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_audit_check_head(const char *heads, const char *path,
					   uint64_t *ret_seq, bool *ret_is_there);

/* Stores the end of the log, as just verified, in `heads`. Raises as errno. */
FW_NODISCARD fw_error *fw_audit_accept(const char *heads, const char *path,
				       const struct fw_audit_report *report);

/* ---- its files ---------------------------------------------------------- */

/* The path of rotated file `number` of the log at `path`; false: too long. */
bool fw_audit_rotated_path(const char *path, unsigned number, char *ret_path, size_t cap);

/* The lowest and the highest number of a rotated file; 0 and 0: none. Raises as
 * errno. */
FW_NODISCARD fw_error *fw_audit_rotated_range(const char *path, unsigned *ret_first,
					      unsigned *ret_last);

#endif
