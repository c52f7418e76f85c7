/*
 * limits_store.h - limits of stores that servers share, and of audit anchors.
 *
 * The one rule to remember: the same as in limits.h. Every wait for another machine has a
 * limit here.
 */
#ifndef FW_BASE_LIMITS_STORE_H
#define FW_BASE_LIMITS_STORE_H

enum {
	/* PostgreSQL: connections of a process to one URL; an attempt to connect to one
	 * host. */
	FW_LIMIT_PG_CONNECTIONS = 8,
	FW_LIMIT_PG_CONNECT_MS = 1000,
	/* An operation on rows, a batch of incidents, a list of incidents, each including
	 * the time to connect; a statement on the server; a migration. */
	FW_LIMIT_PG_ANSWER_MS = 2000,
	FW_LIMIT_PG_BATCH_MS = 5000,
	FW_LIMIT_PG_READ_MS = 10000,
	FW_LIMIT_PG_STATEMENT_MS = 5000,
	/* A wait for a lock on the server. Less than the limit of an operation, so that a
	 * longer wait means that the host does not answer. */
	FW_LIMIT_PG_LOCK_MS = 1500,
	FW_LIMIT_PG_MIGRATE_MS = 10 * 60 * 1000,
	/* How long no attempt is made after a failed one, and on a host that did not
	 * answer. */
	FW_LIMIT_PG_RETRY_MS = 300,
	FW_LIMIT_PG_SILENT_MS = 1000,
	/* Incidents that wait on the disk for a store that is away: bytes of the file, and
	 * bytes that are read at once when it is back. */
	FW_LIMIT_INCIDENT_FILE_BYTES = 256 * 1024 * 1024,
	FW_LIMIT_INCIDENT_CATCH_UP_BYTES = 4 * 1024 * 1024,
	/* How long known tokens are accepted while their store is unavailable. */
	FW_LIMIT_TOKEN_AGE_MS = 60 * 1000,
	/* Audit anchors: the interval, and a line of their file. */
	FW_LIMIT_ANCHOR_MS = 5000,
	FW_LIMIT_ANCHOR_LINE_BYTES = 1024,
};

#endif
