/*
 * gate_impl.h - the inside of a gateway: gate.c has its life, upstream.c connections and
 * their restarts, legacy.c the second connection to a server of both eras, job.c a call on its way, headers.c its headers, answer.c what replies mean, names.c routing.
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
	/* A second connection, for legacy clients, see legacy.c; NULL: none. Of that one, the
	 * upstream that it belongs to; NULL: this is no second connection. */
	struct fw_upstream *legacy;
	struct fw_upstream *owner;
	bool is_modern_only; /* a second connection was refused */
	struct fw_remote *remote;
	struct fw_breaker breaker;
	struct fw_job *jobs;    /* sent */
	struct fw_job *waiting; /* until it is connected */
	struct fw_job *last_waiting;
	bool is_settled;        /* it was ready, or failed to become so */
	unsigned failed_starts; /* in a row */
	uint64_t retry_ms;      /* when it may be started again, in loop time; 0: now */
	/* Why it is down; NULL: it is not, or was never started. */
	fw_error *fault;
	struct fw_listing listings[FW_LISTING_KINDS];
	fw_error *list_faults[FW_LISTING_KINDS]; /* why the last fetch failed */
	struct fetch *fetches;                   /* that wait for the connection */
	uint64_t stream_key;                     /* of subscriptions/listen; 0: none */
	uint64_t changed_tools;
	bool is_pinned;           /* its tools are known: a new one is a change */
	unsigned retry_tokens;    /* tenths: each call adds one, each retry costs ten */
	uint64_t counted_connect; /* the connection whose end the breaker knows of */
	int log_level;            /* -1: not set */
	struct fw_definitions definitions;
	struct fw_rate rate;
	uint64_t outcomes[FW_GATE_OUTCOMES];
	uint32_t in_flight;
	struct fw_abandoned abandoned[FW_GATE_ABANDONED]; /* with several clients */
};

struct fw_gate {
	struct fw_relay relay; /* first: the server hands it back */
	struct fw_loop *loop;
	struct fw_fetcher *fetcher; /* NULL: no upstream needs it */
	struct fw_pins *pins;
	struct fw_gate_options options;
	struct fw_upstream *upstreams;
	size_t count;
	bool is_stopped;
	bool has_offer;   /* `capabilities` is set */
	bool is_greeting; /* the client has begun its handshake, and not ended it */
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

/* A call on its way. */
struct fw_job {
	struct fw_job *next; /* in a list of its upstream */
	struct fw_job *previous;
	struct fw_gate *gate;
	struct fw_upstream *upstream; /* NULL: not known yet */
	struct fw_gathering *gathering;
	unsigned gathered;  /* how many kinds of lists were fetched for it */
	char *own_name;     /* what its upstream calls it; NULL: the same */
	uv_timer_t *timer;  /* until it is sent again; NULL: none */
	uint64_t waited_ms; /* between attempts */
	bool is_safe;       /* to be sent again after it was sent */
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
	uint64_t asked_ms;          /* when, in loop time; 0: no question is open */
	char *refused;              /* the method of a question that was refused */
	bool has_state;             /* its requestState is not of this gateway */
	struct fw_parking *parking; /* NULL: it has a client */
};

/* ---- upstream.c ---- */

fw_error *fw_upstream_init(struct fw_upstream *upstream, struct fw_gate *gate,
			   const struct fw_gate_entry *entry, enum fw_remote_era era);
/* The era that the operator has chosen for it. */
enum fw_remote_era fw_upstream_era(const struct fw_gate *gate,
				   const struct fw_gate_entry *entry);
void fw_upstream_clear(struct fw_upstream *upstream);
/* Makes sure that it is connected, or will be. */
void fw_upstream_connect(struct fw_upstream *upstream);
void fw_upstream_disconnect(struct fw_upstream *upstream);
/* Is it ready for a request? Otherwise the job waits for it, or *ret_err says why not. */
bool fw_upstream_admit(struct fw_upstream *upstream, struct fw_job *job, fw_error **ret_err);
/* Is it connected? Otherwise it will be, or *ret_err says why not. */
bool fw_upstream_is_ready(struct fw_upstream *upstream, fw_error **ret_err);
/* An error belongs to one call, so each gets a copy. Cannot fail. */
fw_error *fw_upstream_copy_error(const fw_error *err);
/* Also again after a restart; a FW_LOG_* level. */
void fw_upstream_set_level(struct fw_upstream *upstream, int level);
/* The outcome of an admitted job, for the breaker. `err` is borrowed; NULL: it worked. */
void fw_upstream_judge(struct fw_upstream *upstream, const struct fw_job *job,
		       const fw_error *err);

/* Counts the job in the limits of its upstream, or says why it is refused. */
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

/* The connection that a request of this client goes by: the upstream, or its second
 * connection, which is made when it is first needed. */
struct fw_upstream *fw_upstream_for(struct fw_upstream *upstream, const fw_call *call);
/* The upstream that a connection belongs to: limits, counts and schemas are its. */
struct fw_upstream *fw_upstream_owner(struct fw_upstream *upstream);
/* The second connection could not be made, and never was: the requests that wait for it go by
 * the first. False: this is no such connection. */
bool fw_upstream_falls_back(struct fw_upstream *upstream);

/* ---- subscribe.c ---- */

/* Asks for all changes that clients want to know of. */
void fw_upstream_listen(struct fw_upstream *upstream);
/* The same for resources that were not asked for before. */
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
/* The reply has come, and is valid. */
void fw_job_end(struct fw_job *job, const struct fw_remote_reply *reply);
/* It was not sent. Consumes `err`. */
void fw_job_refuse(struct fw_job *job, fw_error *err);
void fw_job_free(struct fw_job *job);
/* The job that a message of the upstream belongs to, as far as that can be known. */
struct fw_job *fw_job_of(const struct fw_upstream *upstream, uint64_t key);

/* ---- headers.c ---- */

/* Learns the definition of a tool. False: the protocol wants the tool to be left out. */
bool fw_upstream_learns(struct fw_upstream *upstream, const char *tool, struct fw_slice item);
/* Compares the headers of the client with the arguments. Raises protocol.header_mismatch. */
fw_error *fw_job_check_headers(const struct fw_job *job);
/* The headers for the upstream; false: no memory. The caller clears `ret_lines->text`. */
bool fw_job_put_headers(const struct fw_job *job, struct fw_mirror_lines *ret_lines);
/* Is a header missing for the upstream? Then the job goes on when its tools are listed. */
bool fw_job_relists(struct fw_job *job, const struct fw_remote_reply *reply);

/* ---- retry.c ---- */

/* Sends the job again after a while, if that is safe and its time allows it. `err` is why it
 * failed, borrowed. */
bool fw_job_retries(struct fw_job *job, const fw_error *err);
/* A new job: it adds to the budget of retries of its upstream. */
void fw_job_earn_retry(const struct fw_job *job);
void fw_job_stop_timer(struct fw_job *job);
/* Starts a job, or starts it again. */
void fw_job_start(struct fw_job *job);

/* ---- answer.c ---- */

/* The failure that a reply reports; NULL: it is a success. */
fw_error *fw_answer_read(const struct fw_upstream *upstream, const fw_call *call,
			 const struct fw_remote_reply *reply);

/* ---- names.c ---- */

/* Finds the upstream of a job, and the name that it has there. With `is_final` a name that
 * is not found is an error; otherwise the upstream stays NULL, and lists are fetched. */
fw_error *fw_gate_route(struct fw_job *job, bool is_final);
/* The name of the upstream that has this tool; NULL: none, several, or the lists are not
 * known yet. */
const char *fw_gate_upstream_of(struct fw_gate *gate, const char *tool);
/* The kind of list that says where the call goes; -1: none is needed. */
int fw_gate_route_kind(const fw_call *call);
/* The name of a tool, prompt or resource as its upstream knows it. */
const char *fw_gate_own_name(const struct fw_job *job);
/* What all upstreams together can do, for the hello. */
void fw_gate_write_hello(struct fw_gate *gate);

#endif
