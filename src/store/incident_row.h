/*
 * incident_row.h - an incident as a store keeps it, and which incidents to list.
 */
#ifndef FW_STORE_INCIDENT_ROW_H
#define FW_STORE_INCIDENT_ROW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One failure. Strings are borrowed; NULL: not known. */
struct fw_incident {
	const char *id;
	int64_t time_ms;
	int64_t duration_us;
	const char *code;
	const char *severity;
	int status;
	const char *tool;
	const char *operation;
	const char *client;
	const char *session;
	const char *trace;
	const char *message;
	const char *peer; /* its address; NULL: not known, or not over a network */
	/* Not in lists: the canonical error with its trail, and the detail for the
	 * operator. */
	const char *error;
	const char *detail;
	/* When read in full: the contract in which the client got the error; NULL: not
	 * known. It is stored as a member of `error` (incident_read.c). */
	const char *contract;
	/* For writing: the tool name under which it is counted. */
	const char *counted_as;
	bool is_unauthenticated; /* counts against a quota of its own */
	/* For writing, 0: not known. A writer numbers its incidents upwards from 1; a
	 * store remembers the last one of each writer, and inserts none up to it. The
	 * incidents of one batch have one writer. */
	int64_t writer;
	uint64_t number;
	/* When read in full: how often this code came from this tool. */
	int64_t first_ms;
	int64_t last_ms;
	uint64_t count;
};

/* The stored texts of an incident, by number; a copy needs all of them. */
enum { FW_INCIDENT_TEXTS = 13 };
const char **fw_store_incident_text(struct fw_incident *incident, size_t index);

/* Which incidents to list. Strings NULL and times 0: any. */
struct fw_incident_filter {
	const char *code;
	const char *tool;
	const char *client;
	const char *session;
	int64_t since_ms; /* inclusive */
	int64_t until_ms; /* exclusive */
	size_t limit;     /* 0: all */
};

typedef void fw_incident_fn(void *ctx, const struct fw_incident *incident);
/* False: there are no more. */
typedef bool fw_incident_next_fn(void *ctx, struct fw_incident *ret_incident);

#endif
