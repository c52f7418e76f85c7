/*
 * gate_impl.h - the internals of a gateway. gate.c has its lifecycle, upstream.c the
 * connections and their restarts, legacy.c the second connection to a server of both
 * eras, job.c the calls in progress, headers.c their headers, answer.c the meaning of
 * replies, names.c the routing.
 */
#ifndef FW_GATE_GATE_IMPL_H
#define FW_GATE_GATE_IMPL_H

#include <uv.h>

#include "base/buf.h"
#include "client/remote.h"
#include "gate/gate.h"
#include "gate/listing.h"
#include "gate/definition.h"
#include "mcp/relay.h"
#include "policy/breaker.h"
#include "policy/rate.h"

struct fw_job;
struct fw_fetcher;
struct fw_asker;
struct fw_parking;
struct fw_pins;
struct fetch;

enum { FW_GATE_RETRY_TOKENS = 100 };

/* A call that is not waited for any more, and that the upstream may still work on. */
struct fw_abandoned {
	uint64_t key;      /* of the remote */
	uint64_t client;   /* as in fw_upstream_client() */
	uint64_t connect;  /* the connection that it was sent by */
	uint64_t until_ms; /* in loop time */
};

enum { FW_GATE_ABANDONED = 16, FW_GATE_ABANDONED_MS = 60 * 1000 };

struct fw_upstream {
	struct fw_gate *gate;
	const struct fw_gate_entry *entry;
	/* In an upstream: the second connection for legacy clients (legacy.c), or NULL.
	 * In a second connection: `owner` is its upstream. NULL: this is not a second
	 * connection. */
	struct fw_upstream *legacy;
	struct fw_upstream *owner;
	bool is_modern_only; /* a second connection was refused */
	struct fw_remote *remote;
	struct fw_breaker breaker;
	struct fw_job *jobs;    /* sent */
	struct fw_job *waiting; /* until it is connected */
	struct fw_job *last_waiting;
	bool is_settled;        /* a first attempt to connect has succeeded or failed */
	unsigned failed_starts; /* in a row */
	uint64_t retry_ms;      /* when it may be started again, in loop time; 0: now */
	/* Why it is down. NULL: it is up, or was never started. */
	fw_error *fault;
	struct fw_listing listings[FW_LISTING_KINDS];
	fw_error *list_faults[FW_LISTING_KINDS]; /* why the last fetch failed */
	struct fetch *fetches;                   /* fetches that wait for the connection */
	uint64_t stream_key;                     /* of subscriptions/listen; 0: none */
	uint64_t changed_tools;
	bool is_pinned;           /* its tools are known, so a new tool is a change */
	unsigned retry_tokens;    /* tenths: each call adds one, each retry costs ten */
	uint64_t counted_connect; /* the last connection whose end the breaker has counted */
	int log_level;            /* -1: not set */
	struct fw_definitions definitions;
	struct fw_rate rate;
	uint64_t outcomes[FW_GATE_OUTCOMES];
	uint32_t in_flight;
	struct fw_abandoned abandoned[FW_GATE_ABANDONED]; /* with several clients */
};

struct fw_gate {
	struct fw_relay relay; /* must be first: callbacks of the server get this pointer */
	struct fw_loop *loop;
	struct fw_fetcher *fetcher; /* NULL: no upstream needs it */
	struct fw_pins *pins;
	struct fw_gate_options options;
	struct fw_upstream *upstreams;
	size_t count;
	bool is_stopped;
	bool has_offer;   /* `capabilities` is set */
	bool is_greeting; /* the client's handshake is in progress */
	struct fw_parking *parked;
	struct fw_asker *askers; /* that wait for the end of the handshake */
	size_t parked_count;
	struct fw_buf params; /* being written */
	struct fw_buf meta;
	struct fw_buf scratch;
	struct fw_buf capabilities; /* of the client, for upstreams */
	struct fw_buf hello_capabilities;
	struct fw_buf hello_instructions;
	struct fw_buf hello_server;
};

/* A call in progress. */
struct fw_job {
	struct fw_job *next; /* in a list of its upstream */
	struct fw_job *previous;
	struct fw_gate *gate;
	struct fw_upstream *upstream; /* NULL: not known yet */
	struct fw_gathering *gathering;
	unsigned gathered;  /* how many kinds of lists were fetched for it */
	char *own_name;     /* name of the tool at its upstream; NULL: the same name */
	uv_timer_t *timer;  /* until it is sent again; NULL: none */
	uint64_t waited_ms; /* total wait between attempts */
	bool is_safe;       /* may be sent again although it was sent */
	bool was_sent;      /* by an attempt that failed */
	fw_call *call;
	uint64_t key;      /* of the remote; 0: not sent */
	uint64_t began_ms; /* in loop time, as the next */
	uint64_t due_ms;   /* 0: no deadline */
	uint32_t deadline_ms;
	unsigned attempts;
	bool is_waiting; /* in the list `waiting` */
	bool is_linked;
	bool is_counted;   /* in `in_flight` of its upstream */
	bool has_relisted; /* see fw_job_relists() */
	/* Questions: of a modern upstream, the state to send back; of a legacy one, those that
	 * its legacy client has not answered, or the id of the one that a modern client was
	 * asked. */
	struct fw_buf state;
	struct fw_asker *askers;
	unsigned asker_count;
	struct fw_buf question_id;
	unsigned rounds;
	uint64_t asked_ms; /* when the question was asked, in loop time; 0: none is open */
	char *refused;     /* the method of a question that was refused */
	bool has_state;    /* its requestState was not made by this gateway */
	struct fw_parking *parking; /* NULL: not parked */
};

/* ---- upstream.c ---- */

fw_error *fw_upstream_init(struct fw_upstream *upstream, struct fw_gate *gate,
			   const struct fw_gate_entry *entry, enum fw_remote_era era);
/* The era that the operator has configured for it. */
enum fw_remote_era fw_upstream_era(const struct fw_gate *gate,
				   const struct fw_gate_entry *entry);
void fw_upstream_clear(struct fw_upstream *upstream);
/* Makes sure that it is connected, or will be. */
void fw_upstream_connect(struct fw_upstream *upstream);
void fw_upstream_disconnect(struct fw_upstream *upstream);
/* True: it is ready for a request. Otherwise the job waits for it, or *ret_err says why
 * it cannot. */
bool fw_upstream_admit(struct fw_upstream *upstream, struct fw_job *job, fw_error **ret_err);
/* True: it is connected. Otherwise it is being connected, or *ret_err says why it cannot be. */
bool fw_upstream_is_ready(struct fw_upstream *upstream, fw_error **ret_err);
/* An error belongs to one call, so each gets a copy. Cannot fail. */
fw_error *fw_upstream_copy_error(const fw_error *err);
/* Sets a FW_LOG_* level, also after each restart. */
void fw_upstream_set_level(struct fw_upstream *upstream, int level);
/* Reports the outcome of an admitted job to the breaker. `err` is borrowed; NULL: success. */
void fw_upstream_judge(struct fw_upstream *upstream, const struct fw_job *job,
		       const fw_error *err);

/* Counts the job towards the limits of its upstream. Returns an error if a limit is reached. */
fw_error *fw_upstream_count(struct fw_upstream *connection, struct fw_job *job);
void fw_upstream_uncount(struct fw_job *job);

/* ---- abandoned.c ---- */

/* Whose call it is, as a hash; 0: not known, so it is the same as no other. */
uint64_t fw_upstream_client(const fw_call *call);
/* The call `key` of the job is not waited for any more. */
void fw_upstream_abandon(struct fw_job *job, uint64_t key);
/* The upstream has answered such a call. */
void fw_upstream_replied_late(struct fw_upstream *upstream, uint64_t key);
/* Whether it works on no such call of another client. */
bool fw_upstream_is_left_to(const struct fw_upstream *upstream, uint64_t client);

/* ---- legacy.c ---- */

/* The connection for a request of this client: the upstream, or its second connection,
 * which is made when it is first needed. */
struct fw_upstream *fw_upstream_for(struct fw_upstream *upstream, const fw_call *call);
/* The upstream that a connection belongs to. It has the limits, the counts and the schemas. */
struct fw_upstream *fw_upstream_owner(struct fw_upstream *upstream);
/* Called when a connection could not be made. If it is a second connection that never
 * worked, its waiting requests move to the first connection. False: it is not one, or it
 * has worked before. */
bool fw_upstream_falls_back(struct fw_upstream *upstream);

/* ---- subscribe.c ---- */

/* Asks for notifications of all changes that some client has subscribed to. */
void fw_upstream_listen(struct fw_upstream *upstream);
/* The same for resources that were not subscribed to before. */
void fw_upstream_listen_to(struct fw_upstream *upstream, bool is_legacy, char *const *uris,
			   size_t count);

/* ---- job.c ---- */

void fw_job_take(struct fw_gate *gate, fw_call *call);
void fw_job_abandon(fw_call *call);
/* Sends it: its upstream is ready. */
void fw_job_send(struct fw_job *job);
/* Consumes `err`. */
void fw_job_fail(struct fw_job *job, fw_error *err);
void fw_job_unlink(struct fw_job *job);
void fw_job_link(struct fw_job *job, bool is_waiting);
/* A valid reply has come. */
void fw_job_end(struct fw_job *job, const struct fw_remote_reply *reply);
/* Fails a job that was not sent. Consumes `err`. */
void fw_job_refuse(struct fw_job *job, fw_error *err);
void fw_job_free(struct fw_job *job);
/* The job that a message of the upstream belongs to. NULL: not known. */
struct fw_job *fw_job_of(const struct fw_upstream *upstream, uint64_t key);

/* ---- headers.c ---- */

/* Learns the definition of a tool. False: the protocol requires that the tool is left out. */
bool fw_upstream_learns(struct fw_upstream *upstream, const char *tool, struct fw_slice item);
/* Compares the headers of the client with the arguments. Raises protocol.header_mismatch. */
fw_error *fw_job_check_headers(const struct fw_job *job);
/* The headers for the upstream; false: no memory. The caller clears `ret_lines->text`. */
bool fw_job_put_headers(const struct fw_job *job, struct fw_mirror_lines *ret_lines);
/* True: the upstream misses a header, so its tools are being listed and the job continues
 * after that. */
bool fw_job_relists(struct fw_job *job, const struct fw_remote_reply *reply);

/* ---- retry.c ---- */

/* Sends the job again after a delay, if that is safe and its deadline allows it. `err` is
 * why it failed, and is borrowed. */
bool fw_job_retries(struct fw_job *job, const fw_error *err);
/* Adds a new job's share to the retry budget of its upstream. */
void fw_job_earn_retry(const struct fw_job *job);
void fw_job_stop_timer(struct fw_job *job);
/* Starts a job, or starts it again. */
void fw_job_start(struct fw_job *job);

/* ---- answer.c ---- */

/* The failure that a reply reports. NULL: the reply is a success. */
fw_error *fw_answer_read(const struct fw_upstream *upstream, const fw_call *call,
			 const struct fw_remote_reply *reply);

/* ---- names.c ---- */

/* Finds the upstream of a job, and the name that the upstream uses for what the job
 * calls. If a name is not found, it is an error with `is_final`; otherwise the upstream
 * stays NULL, and the caller fetches the lists first. */
fw_error *fw_gate_route(struct fw_job *job, bool is_final);
/* The name of the only upstream that has this tool. NULL: none has it, several have it,
 * or the lists are not known yet. */
const char *fw_gate_upstream_of(struct fw_gate *gate, const char *tool);
/* The kind of list that is needed to route the call. -1: none. */
int fw_gate_route_kind(const fw_call *call);
/* The name of a tool, prompt or resource as its upstream knows it. */
const char *fw_gate_own_name(const struct fw_job *job);
/* Writes the capabilities of all upstreams together, for the reply to a client's handshake. */
void fw_gate_write_hello(struct fw_gate *gate);

#endif
