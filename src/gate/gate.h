/*
 * gate.h - the gateway: a relay (mcp/relay.h) to other MCP servers, which are its
 * upstreams.
 *
 * Whatever an upstream does, each call gets one answer: its result unchanged, or one
 * canonical error that says which side failed, whether the call was delivered, and
 * whether repeating it is safe.
 *
 * The one rule to remember: a gateway lives on the loop of its server, is attached
 * before the server runs, and is freed after the server.
 */
#ifndef FW_GATE_GATE_H
#define FW_GATE_GATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>
#include <faultwire/serve.h>

#include "base/loop.h"
#include "client/link.h"
#include "client/remote.h"

struct fw_gate;

/* One upstream. All of it is borrowed for the life of the gateway. */
struct fw_gate_entry {
	struct fw_link_target target; /* its name is the upstream's name */
	enum fw_remote_era era;
	uint32_t deadline_ms;     /* per call; 0: the gateway's deadline */
	const char *const *allow; /* names of tools, NULL at the end; NULL: all */
	const char *const *deny;
	fw_contract contract;      /* for its failures; FW_AUTO: the gateway's contract */
	uint32_t breaker_limit;    /* failures in a row; 0: FW_GATE_BREAKER_LIMIT */
	uint32_t breaker_pause_ms; /* 0: FW_GATE_BREAKER_PAUSE_MS */
	uint32_t calls_per_second; /* 0: no limit */
	uint32_t in_flight;        /* 0: no limit */
	uint32_t retries; /* per call that is safe to repeat; UINT32_MAX: the default */
};

enum {
	FW_GATE_UPSTREAMS = 64,
	FW_GATE_BREAKER_LIMIT = 5,
	FW_GATE_BREAKER_PAUSE_MS = 10 * 1000,
	FW_GATE_RETRIES = 2,
	FW_GATE_PROGRESS_TIMES = 10, /* progress extends a deadline to this multiple at most */
	FW_GATE_RETRY_WAIT_S = 60    /* a longer Retry-After is left to the client */
};

struct fw_gate_options {
	const struct fw_gate_entry *entries;
	size_t count;           /* 1 to FW_GATE_UPSTREAMS */
	uint32_t deadline_ms;   /* per call; 0: none */
	enum fw_remote_era era; /* of upstreams whose entry does not set one */
	bool is_http;           /* many clients share the upstreams: connect at once */
	bool is_strict;         /* a list is an error if an upstream is missing */
	bool trusts_annotations;
	bool exposes_stderr;
	bool suspects;        /* a success whose text is an error counts as a failure */
	const char *pin_file; /* NULL: none */
	int ruleset;          /* descriptor of the Landlock rules for programs; 0: none */
};

/* Raises internal.out_of_memory, internal.unsupported (no libcurl), and the errors of
 * reading the pin file. */
fw_error *fw_gate_new(struct fw_loop *loop, const struct fw_gate_options *options,
		      struct fw_gate **ret_gate);
/* Passes on the requests of this server. Call it before the server runs. */
void fw_gate_attach(struct fw_gate *gate, fw_server *server);
struct fw_breaker;
/* Calls `use` for the breaker of each upstream that has a URL, until it fails. The breakers
 * live as long as the gateway. */
fw_error *fw_gate_each_breaker(struct fw_gate *gate,
			       fw_error *(*use)(void *ctx, const char *url,
						struct fw_breaker *breaker),
			       void *ctx);
/* NULL is a no-op. Its handles are closed when the loop runs again. */
void fw_gate_free(struct fw_gate *gate);

struct fw_buf;
struct fw_metrics;

/* How requests to an upstream ended. */
enum fw_gate_outcome {
	FW_GATE_OK,
	FW_GATE_FAILED,  /* the upstream reports a failure */
	FW_GATE_BROKEN,  /* it ended early, did not answer, or its reply cannot be used */
	FW_GATE_REFUSED, /* not sent: limits, breaker, not started */
	FW_GATE_OUTCOMES
};

/* Adds the state of each upstream to the metrics and, as lines, to /readyz of the server:
 * the gateway is not ready if all upstreams have failed to start. Metrics may be NULL.
 * Raises internal.out_of_memory, internal.api_misuse. */
fw_error *fw_gate_observe(struct fw_gate *gate, struct fw_metrics *metrics);

/* For the log and for metrics: one upstream. */
struct fw_gate_status {
	const char *name;
	bool is_up;
	uint64_t connects;
	uint64_t late;
	uint64_t stray;
	uint64_t unmatched;
	uint64_t changed_tools;
	bool is_suspended;     /* its breaker is open */
	bool is_tried;         /* its breaker is open and a trial call is in progress */
	const fw_error *fault; /* why it is down; NULL: it is up, or was never started */
	uint64_t in_flight;
	uint64_t outcomes[FW_GATE_OUTCOMES];
};
/* False past the end. */
bool fw_gate_status(const struct fw_gate *gate, size_t index,
		    struct fw_gate_status *ret_status);
/* All upstreams as a JSON array; `ctx` is the gateway. docs/api.md describes it. */
void fw_gate_put_status(void *ctx, struct fw_buf *out);

#endif
