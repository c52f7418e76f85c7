/*
 * reserve_impl.h - a request to the store's thread, for the tools and for the check of
 * writes.
 */
#ifndef FW_TOOLS_RESERVE_RESERVE_IMPL_H
#define FW_TOOLS_RESERVE_RESERVE_IMPL_H

#include <yyjson.h>

#include "base/buf.h"
#include "store/store_queue.h"
#include "tools/reserve/book.h"
#include "tools/reserve/reserve.h"

enum { FW_RESERVE_AGENT_BYTES = 128 };

struct fw_reserve_job {
	struct fw_store_call call; /* must be first */
	struct fw_reserve *reserve;
	struct fw_reserve_job *next;
	struct fw_reserve_job *previous;
	fw_call *target; /* NULL: the call has ended */
	char key[64];    /* of the question; "": it is the call of a tool */
	/* On the store's thread; the result is `out`, JSON. */
	fw_error *(*work)(struct fw_reserve_job *job, struct fw_store *store);
	char agent[FW_RESERVE_AGENT_BYTES + 1]; /* "": not known */
	yyjson_doc *doc;                        /* what the texts of the request borrow */
	struct fw_reserve_request request;
	const char *texts[FW_RESERVE_PATTERNS];
	struct fw_buf out;
};

struct fw_reserve {
	fw_server *server;
	struct fw_loop *loop;
	char *store;
	char *root;  /* directory that patterns of the tools are relative to */
	char *agent; /* --agent-id; NULL: not given */
	void **slot; /* of the host, where the others find it */
	size_t refs;
	int root_errno;               /* why `root` cannot be used; 0: it can */
	struct fw_store_queue *queue; /* NULL: not needed yet */
	struct fw_reserve_book *book; /* of the store's thread */
	struct fw_reserve_job *jobs;
};

/* Yours until it is submitted. NULL: no memory. */
struct fw_reserve_job *fw_reserve_job_new(struct fw_reserve *reserve, fw_call *target);
void fw_reserve_job_free(struct fw_reserve_job *job);
/* Who calls: the name of the token, the argument agent_id, or --agent-id; "" if none is given.
 * Raises input.invalid_value. */
FW_NODISCARD fw_error *fw_reserve_job_identify(struct fw_reserve_job *job);
/* On the store's thread: the conflicts of the request as JSON. */
FW_NODISCARD fw_error *fw_reserve_job_check(struct fw_reserve_job *job, struct fw_store *store,
					    bool shows_wait);
/* Takes the texts of a JSON array of strings, at most FW_RESERVE_PATTERNS. */
void fw_reserve_job_take_texts(struct fw_reserve_job *job, yyjson_val *list);
/* Consumes the job. Raises what opening the store raises. */
FW_NODISCARD fw_error *fw_reserve_job_submit(struct fw_reserve_job *job);

/* tools.c */
FW_NODISCARD fw_error *fw_reserve_add_tools(struct fw_reserve *reserve);

#endif
