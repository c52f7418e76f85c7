/*
 * batch.h - a batch of messages (2025-03-26), whose replies leave together.
 *
 * States:
 *   OPEN     its messages are being read
 *   WAITING  some members are not answered yet
 *   SETTLED  all members are answered: it replies if its exchange still exists,
 *            and is freed. Its members own it together (`pending`).
 */
#ifndef FW_MCP_BATCH_H
#define FW_MCP_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct fw_exchange;

struct fw_batch {
	struct fw_batch *next;        /* of the same exchange */
	struct fw_exchange *exchange; /* NULL: the connection has closed */
	size_t pending;               /* members that are not answered yet */
	bool is_open;                 /* its members are still being read */
	size_t promised;              /* bytes of results that fit, including held ones */
	size_t errors;                /* bytes of errors */
	struct fw_buf out;
};

/* NULL: out of memory. It is on the list of its exchange until it is settled. */
struct fw_batch *fw_batch_new(struct fw_exchange *exchange);
/* Its connection has closed. */
void fw_batch_detach(struct fw_batch *batch);
/* Reserves room for a result; false: together the results exceed `most` bytes. */
bool fw_batch_reserve_result(struct fw_batch *batch, size_t len, uint64_t most);
/* The same for an error; false: it has to be replaced by a short one. */
bool fw_batch_reserve_error(struct fw_batch *batch, size_t len);
/* Adds the reply of one member (`len` 0: it has none), and settles. */
void fw_batch_put(struct fw_batch *batch, const char *text, size_t len);
/* If all of its members are answered: sends their replies, and frees it. */
void fw_batch_settle(struct fw_batch *batch);

#endif
