/*
 * impl.h - what the parts of the runtime share: the server, a call, a session.
 *
 * The one rule to remember: all of this belongs to the loop's thread. Only
 * what a handler is documented to use of its call is used elsewhere, and only
 * while the handler runs.
 */
#ifndef FW_MCP_IMPL_H
#define FW_MCP_IMPL_H

#include <stdatomic.h>

#include <uv.h>
#include <yyjson.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/limits.h"
#include "base/text.h"
#include "schema/schema.h"
#include "mcp/runner.h"
#include "mcp/transport.h"
#include "policy/rate.h"

#include <faultwire/raise.h>
#include <faultwire/server.h>

/*
 * ---- who owns what, and when it may go -------------------------------------
 *
 * exchange  The transport owns it. The core points to it only from its `calls`
 *           and `batches` lists, from call->exchange and batch->exchange of
 *           the members of those lists, and from stream->exchange where
 *           exchange->streaming names the stream's session. fw_exchange_gone()
 *           clears all of these, whatever state the call or the session is in.
 *           So: never take a call off the server's list before it has answered
 *           its exchange, and never keep a pointer to an exchange elsewhere.
 *
 * call      NEW       made; synchronous, on no list
 *           UNDER WAY fw_call_enlist(): on the lists of server and exchange
 *           HELD      its outcome is decided, an observer keeps the reply;
 *                     it stays on both lists; the hold owns a reference
 *           ANSWERED  leave(): replied, closed, or nobody was there to hear;
 *                     off all lists
 *           freed     with its last reference (a run, a hold, a post)
 *           NEW goes to UNDER WAY, to HELD (which enlists it) or to ANSWERED;
 *           UNDER WAY to HELD or ANSWERED; HELD to ANSWERED and to nothing else:
 *           a cancellation, a deadline, the end of the session, the death of
 *           the worker and the connection's end change whether the reply is
 *           sent (is_silent, exchange), never the state.
 *           fw_call_is_over(): HELD or ANSWERED.
 *
 * batch     OPEN      its messages are being read
 *           WAITING   some members are not answered yet
 *           SETTLED   all are: it replies if its exchange is still there, and
 *                     is freed. Its members own it together (`pending`).
 *
 * session   OPEN      in the server's table; owned by it
 *           ENDED     fw_session_free(): not found any more, its streams are
 *                     closed, its calls failed (HELD ones keep their outcome)
 *           freed     with its last reference: each call of it owns one
 */

/* ---- versions --------------------------------------------------------------- */

enum fw_version {
	FW_V_2025_03_26,
	FW_V_2025_06_18,
	FW_V_2025_11_25,
	FW_V_2026_07_28, /* from here on: the modern era */
	FW_V_COUNT,
	FW_V_NONE = FW_V_COUNT
};

extern const char *const fw_version_names[FW_V_COUNT];
enum fw_version fw_version_find(struct fw_text name);
/* The same for the value of a header, which is a C string. */
enum fw_version fw_version_named(const char *header);

/* How far a message got in the boundary; told with every failure. */
enum fw_stage {
	FW_STAGE_TRANSPORT,
	FW_STAGE_PARSE,
	FW_STAGE_PROTOCOL,
	FW_STAGE_SESSION,
	FW_STAGE_LIMITS,
	FW_STAGE_METHOD,
	FW_STAGE_SCHEMA,
	FW_STAGE_RUN,
	FW_STAGE_OUTPUT
};

/* ---- what is offered (offer.c) ------------------------------------------------ */

/* How many calls of it wait for a slot, and how many have one. */
struct fw_load {
	size_t waiting;
	size_t running;
};

enum fw_kind_of_offer { FW_OFFER_TOOL, FW_OFFER_RESOURCE, FW_OFFER_TEMPLATE, FW_OFFER_PROMPT };

/* A parameter that modern HTTP clients mirror in a header. */
struct fw_mirror {
	char *header;  /* "Mcp-Param-Region" */
	char *pointer; /* into the arguments */
};

struct fw_offer {
	enum fw_kind_of_offer kind;
	char *name; /* a resource's URI or template */
	size_t name_len;
	char *json; /* as lists show it; the legacy and the modern text are alike */
	char *title_name;
	char *mime_type;
	char *operation;
	char *empty_result;
	fw_schema *input;
	fw_schema *output;
	bool output_is_object; /* legacy versions show no other */
	char *json_legacy;     /* without outputSchema, where that is not an object's */
	struct fw_mirror *mirrors;
	size_t mirror_count;
	char **required; /* prompts: names of required arguments */
	size_t required_count;
	fw_handler *handler;
	fw_handler *complete;
	void *ctx;
	fw_run run;
	uint32_t deadline_ms;
	fw_contract contract;
	bool changes;
	bool checks_arguments;
	bool takes_nul;
	bool is_hidden;
	struct fw_load *load;       /* the queue's */
	struct fw_runner *runner;   /* of FW_RUN_PROCESS */
	struct fw_breaker *breaker; /* the same */
	fw_state *state;            /* NULL: none */
};

struct fw_offers {
	struct fw_offer **items;
	size_t count;
	size_t room;
	/* Open addressing by name: index + 1, 0 is free. */
	uint32_t *slots;
	size_t slot_count;
};

const struct fw_offer *fw_offers_find(const struct fw_offers *offers, const char *name,
				      size_t len);
void fw_offers_clear(struct fw_offers *offers);
/* Does `uri` fit the template? Then each variable is told. */
typedef void fw_template_fn(void *ctx, const char *name, size_t name_len, const char *value,
			    size_t len);
bool fw_template_match(const char *pattern, const char *uri, size_t len, fw_template_fn *tell,
		       void *ctx);

/* ---- sessions and streams (session.c) ------------------------------------------ */

struct fw_stored {
	struct fw_stored *next;
	uint64_t number;
	size_t len;
	char json[];
};

/* A stream whose events are kept, so that it can be resumed. Number 0 is the
 * session's GET stream, others are those of single calls. */
struct fw_stream {
	struct fw_stream *next;
	struct fw_session *session;
	uint64_t number;
	uint64_t last;                /* the newest event's number */
	struct fw_exchange *exchange; /* whom it reaches now; NULL: nobody */
	struct fw_stored *first;
	struct fw_stored *newest;
	size_t count;
	size_t bytes;
	bool is_over; /* the answer is among the events */
};

/* A question to a legacy client that waits for its answer. */
struct fw_pending {
	struct fw_pending *next;
	uint64_t id;
	fw_call *call;
	size_t question;
};

/* What a legacy client can do, as it said when it began. Calls share it with
 * their session, which a handler on a thread may outlive; it never changes.
 * References are counted on the loop's thread. */
struct fw_client {
	size_t refs;
	yyjson_doc *capabilities;
};

struct fw_client *fw_client_ref(struct fw_client *client);
/* NULL is a no-op. */
void fw_client_unref(struct fw_client *client);

/* Whose sessions they are: one token at one address (owner.c). */
struct fw_owner {
	struct fw_owner *next;
	uint64_t key;
	size_t sessions;
};

/* The owner of what comes through `exchange`, made if need be; NULL: no memory. */
struct fw_owner *fw_owner_of(struct fw_exchange *exchange);
/* One session less; without sessions it is freed. NULL is a no-op. */
void fw_owner_leave(fw_server *server, struct fw_owner *owner);
/* `owner` counts a session that is about to be: ends another one if it must.
 * Raises session.limit_reached if none can go. */
fw_error *fw_owner_make_room(fw_server *server, const struct fw_owner *owner);

struct fw_session {
	struct fw_session *next;
	struct fw_session *previous;
	char id[40]; /* "": the one of stdio */
	fw_server *server;
	enum fw_version version; /* FW_V_NONE before initialize */
	bool is_initialized;
	struct fw_client *able; /* what the client can do; NULL before initialize */
	char *client;           /* its name and version */
	bool has_contract;
	fw_contract contract;
	fw_log_level log_level;
	uint64_t used_ms;
	char **subscriptions;
	size_t subscription_count;
	struct fw_stream get;
	struct fw_stream *streams;
	uint64_t last_stream;
	struct fw_exchange *wire; /* stdio: everything goes there */
	struct fw_pending *pending;
	uint64_t last_id;
	size_t calls; /* under way */
	size_t refs;  /* the server's table, and each call of it */
	bool is_ended;
	struct fw_owner *owner;
	size_t stream_count; /* kept streams of calls */
	size_t stream_bytes; /* of their events */
};

/* For the client at `exchange`. Raises session.limit_reached, out_of_memory. */
fw_error *fw_session_new(struct fw_exchange *exchange, struct fw_session **ret_session);
/* Nothing of it is under way, and it has not been used for so long. */
bool fw_session_is_idle(const struct fw_session *session, uint64_t ms);
/* Ends it: its calls fail with session.ended, its streams are closed, and
 * nobody finds it any more. Memory goes with the last call that refers to it. */
void fw_session_free(struct fw_session *session);
void fw_session__destroy(struct fw_session *session);
/* NULL is a no-op. */
static inline void fw_session_unref(struct fw_session *session)
{
	if (session && --session->refs == 0)
		fw_session__destroy(session);
}
struct fw_session *fw_session_find(fw_server *server, const char *id);
void fw_session_expire(fw_server *server);
/* To the session's own stream, or its wire. */
void fw_session_send(struct fw_session *session, const char *json, size_t len);
/* One event: numbered, kept, and sent where somebody listens. */
void fw_stream_send(struct fw_stream *stream, const char *json, size_t len, bool is_answer);
void fw_stream_clear(struct fw_stream *stream);
/* `exchange` reads it from behind event `after` on, in place of whoever did. */
void fw_stream_attach(struct fw_stream *stream, struct fw_exchange *exchange, uint64_t after);
/* All of the session's: nobody reads them any more, and they are freed. */
void fw_streams_close(struct fw_session *session);
/* A stream for the answer of one call; NULL: too many are kept, or no memory. */
struct fw_stream *fw_stream_new(struct fw_session *session);
bool fw_session_subscribes(const struct fw_session *session, const char *uri);

/* ---- a call ---------------------------------------------------------------------- */

enum fw_call_kind {
	FW_CALL_TOOL,
	FW_CALL_RESOURCE,
	FW_CALL_PROMPT,
	FW_CALL_COMPLETE,
	FW_CALL_OTHER
};

struct fw_question {
	char key[64];
	char *method; /* NULL: not asked in this run */
	char *params;
	char *answer; /* JSON text; NULL: not known */
	size_t answer_len;
	yyjson_doc *parsed;
	bool is_sent; /* legacy: on its way */
};

struct fw_batch {
	struct fw_batch *next;        /* of its exchange's */
	struct fw_exchange *exchange; /* NULL: it has gone */
	size_t pending;
	bool is_open;    /* its members are still being read */
	size_t promised; /* bytes of results that fit in, held ones among them */
	size_t errors;   /* bytes of errors */
	struct fw_buf out;
};

/* NULL: out of memory. It is on its exchange's list until it is settled. */
struct fw_batch *fw_batch_new(struct fw_exchange *exchange);
/* Its exchange has gone. */
void fw_batch_detach(struct fw_batch *batch);
/* If all of its members are answered: reply with what they said, and free it. */
void fw_batch_settle(struct fw_batch *batch);

struct fw_method;
struct fw_later;
struct fw_recorder;
struct fw_runner;
struct fw_version_of_state;

/* Names of peers, as far as observers see them. */
enum { FW_SHOWN_SIZE = 256 };

/* The end of a call while observers look at it. */
struct fw_hold {
	enum { FW_HOLD_FREE, FW_HOLD_ASKING, FW_HOLD_HELD } state;
	size_t next;       /* the observer to ask */
	fw_error *err;     /* the outcome; NULL: success */
	fw_error *instead; /* said by an observer while it was asked */
	struct fw_buf out; /* the reply of a success, set aside */
	/* Released by another thread: `instead` comes with it. Letting go must
	 * not fail for lack of memory, hence a list of its own and no post. */
	struct fw_hold *next_released;
};

struct fw_call {
	fw_call *next; /* of the server's calls under way; of its free ones */
	fw_call *previous;
	fw_call *exchange_next;
	fw_server *server;
	struct fw_exchange *exchange; /* NULL: nobody waits for the answer */
	struct fw_session *session;
	struct fw_batch *batch;
	atomic_int refs;
	atomic_bool cancelled;
	bool is_modern;
	bool is_listed;   /* among the calls under way */
	bool is_answered; /* or will never be */
	bool is_running;  /* its handler is, or finishes later, or waits for a slot */
	bool is_late;     /* its deadline has passed */
	bool is_listener;
	bool has_id;
	bool may_hold_nul; /* its message has \u0000 in it: some string may hold a NUL */
	bool is_silent;    /* cancelled: no reply leaves */
	bool is_stranger;  /* refused by HTTP before it had shown who it is */
	enum fw_version version;
	enum fw_stage stage;
	enum fw_call_kind kind;
	const struct fw_method *method;
	const struct fw_offer *offer;
	fw_contract contract;
	char id[FW_LIMIT_ID_BYTES]; /* as JSON text */
	size_t id_len;
	yyjson_doc *doc;
	yyjson_doc *made_arguments; /* of a resource template */
	yyjson_val *root;
	yyjson_val *params;
	yyjson_val *meta;
	yyjson_val *arguments;
	yyjson_val *progress_token;
	yyjson_val *capabilities; /* the client's: of `doc`, or of `able` */
	struct fw_client *able;   /* legacy; NULL: not known */
	const char *method_name;  /* both without a NUL inside */
	const char *name;
	size_t name_len;
	int log_level; /* -1: none; legacy: the session's when it began */
	uint64_t started_ns;
	uint64_t failed_ns;   /* 0: it has not */
	uint64_t deadline_ms; /* in loop time; 0: none */
	/* The result. */
	struct fw_buf content;
	struct fw_buf structured;
	struct fw_buf description;
	struct fw_buf json; /* what fw_call_json() gave */
	const char *role;
	bool is_raw;
	bool is_own_error; /* a raw result of a tool, with isError */
	bool is_uncounted; /* a failure that is held: no part of in_flight any more */
	unsigned values;
	fw_error *fault; /* what made the result impossible */
	struct fw_hold hold;
	struct fw_lane *lane;              /* whose it is; NULL: not looked at yet */
	struct fw_wait wait;               /* in a runner's queue */
	struct fw_runner *runner;          /* where it runs or waits; NULL: on the loop */
	struct fw_recorder *recorder;      /* in a worker: who writes down what it says */
	struct fw_version_of_state *state; /* as this run sees it */
	struct fw_version_of_state *new_state;
	double last_progress;
	/* The handler's: what it says on the way, and too fast. */
	struct fw_rate progress_rate;
	struct fw_rate log_rate;
	struct fw_buf late_progress; /* the last that was held back */
	uint64_t logs_dropped;
	/* Questions. */
	struct fw_question *questions;
	size_t question_count;
	size_t outstanding;
	unsigned round;
	char *capability; /* lacking */
	char *client;     /* modern: what it calls itself, where that held a secret */
	/* Streams. */
	struct fw_stream *stream;
	/* Subscriptions of a listener. */
	bool listens_tools, listens_prompts, listens_resources;
	char **uris;
	size_t uri_count;
	/* Memory for small messages. */
	char *pool;
	/* Made before a run that may end on another thread, which needs no memory then. */
	struct fw_post *end;
};

enum { FW_CALL_POOL_BYTES = 16 * 1024, FW_CALL_KEEP_BYTES = 16 * 1024 };

fw_call *fw_call_new(fw_server *server);
fw_call *fw_call__ref(fw_call *call);
void fw_call__unref(fw_call *call);
/* Among those under way, and of its exchange; out again. */
void fw_call_enlist(fw_call *call);
void fw_call_delist(fw_call *call);
/* Its exchange will not hear of it. */
void fw_call_detach(fw_call *call);
/* It is a call of this session from now on, and owns a reference to it. */
void fw_call_join(fw_call *call, struct fw_session *session);
/* Its outcome is decided: the reply is held by an observer, or has left. */
static inline bool fw_call_is_over(const fw_call *call)
{
	return call->is_answered || call->hold.state == FW_HOLD_HELD;
}
void fw_call_forget_result(fw_call *call);
bool fw_call_is_on_loop(const fw_call *call);
/* A message before the answer, from any thread: the call's stream, or session. */
void fw_call_send(fw_call *call, const char *json, size_t len);
void fw_call_cancel(fw_call *call);

/* Does the client have it? `capabilities` is the object of either era. */
yyjson_val *fw_call_capabilities(const fw_call *call);

/* What was held back of its progress, and of its log messages how many. At the
 * end of its handler, by whoever ran that. */
void fw_call_catch_up(fw_call *call);

/* ---- clients (lane.c) ---------------------------------------------------------------- */

struct fw_lane {
	uint64_t key; /* 0: nobody's yet */
	uint64_t used_ns;
	size_t refs;      /* calls that remember it */
	size_t in_flight; /* of these, those under way */
	struct fw_rate rate;
};

/* Finds the call's lane. Raises server.overloaded, governance.rate_limited,
 * internal.out_of_memory: it has none then. */
fw_error *fw_lane_enter(fw_call *call);
void fw_lane_leave(fw_call *call);
/* A call that failed before it had a lane, and whose reply is held, counts among
 * its client's calls from now on. */
void fw_lane_burden(fw_call *call);
/* Raises server.overloaded if so many calls more are too many for the client. */
fw_error *fw_lane_check_room(const fw_call *call, size_t count);

/* The lowest level of a log message that the client wants; -1: none. */
int fw_call_log_level(const fw_call *call);
/* Is this text, as JSON, nested deeper than `most`? */
bool fw_json_is_too_deep(const char *text, size_t len, size_t most);

/* What the tools of a set share (shared.c): a run sees it, and sets it. */
void fw_shared_begin(fw_call *call);
void fw_shared_end(fw_call *call, bool counts);
void fw_states_free(fw_server *server);

/* ---- running (run.c) ----------------------------------------------------------------- */

void fw_later_end(fw_server *server);
/* Starts the call's handler, again if it has asked. */
void fw_call_start(fw_call *call);
/* Its handler is done. Consumes `err`. */
void fw_call_complete(fw_call *call, fw_error *err);
/* Nobody waits for it any more: its handler is stopped, if that can be done. */
void fw_call_abandon(fw_call *call);
/* Looks at the result, and writes it into the server's `out` as a whole result
 * object's members. */
fw_error *fw_call_write_result(fw_call *call, struct fw_buf *out);
/* ttlMs and cacheScope, for modern clients. */
void fw_call_put_cache(const fw_call *call, struct fw_buf *out);
/* The memory of a call that nobody refers to, and that is not kept for reuse. */
void fw_call_destroy(fw_call *call);

/* Asking (ask.c). */
/* NULL: not known yet. */
const char *fw_ask_answered(const fw_call *call, const char *key);
fw_error *fw_ask_read(fw_call *call);
/* Has something to ask before it can go on? */
bool fw_ask_is_open(const fw_call *call);
fw_error *fw_ask_send(fw_call *call);
void fw_ask_answer(struct fw_session *session, uint64_t id, yyjson_val *message);
void fw_ask_forget(fw_call *call);
void fw_ask_clear(fw_call *call);
/* An answer of an earlier round. */
void fw_ask_restore(fw_call *call, struct fw_text key, yyjson_val *answer);
void fw_ask_restore_text(fw_call *call, const char *key, const char *json, size_t len);

/* ---- the boundary (boundary.c) --------------------------------------------------------- */

/*
 * The one way out of a failure: completes `err` (scope, incident, time), shows
 * it to the observers, projects it into the contract of the call, and replies.
 * Consumes `err`, and ends the call.
 */
void fw_mcp_fail(fw_call *call, fw_error *err);

/* A tool is asked for; it is about to run: an observer may refuse it. */
fw_error *fw_mcp_enter(fw_call *call);
fw_error *fw_mcp_admit(fw_call *call);
/* A reply that an observer held goes on; the loop's thread. Consumes `err`. */
void fw_hold_end(fw_hold *hold, fw_error *err);
/* It goes now, and says that its holder was not waited for. */
void fw_hold_abandon(fw_hold *hold);

/* The one way out of a success: what `server->out` holds is sent. */
void fw_mcp_reply(fw_call *call);
/* Begins `server->out` with everything up to the result's first member. */
struct fw_buf *fw_mcp_begin(fw_call *call);
/* Ends the result, with what the era adds. */
void fw_mcp_end(fw_call *call, struct fw_buf *out);
/* A result that is the same for the era: begin, text, end, reply. */
void fw_mcp_reply_empty(fw_call *call);
/* A notification or answer of the client was taken. */
void fw_mcp_accept(fw_call *call);

/* What an error becomes (project.c). The contract that this call's are told in: */
fw_contract fw_mcp_contract(const fw_call *call);
/* It is the result of a tool, not an error of the protocol. */
bool fw_mcp_is_tool_failure(const fw_call *call, const fw_error *err);
/* The whole reply, into `server->out`; and what HTTP says of it. */
void fw_mcp_put_error(fw_call *call, const fw_error *err);
void fw_mcp_put_headers(const fw_call *call, const fw_error *err, struct fw_reply *reply);

/* What observers are told (outcome.c). `err` may be NULL. */
fw_outcome fw_outcome_of(fw_call *call, const fw_error *err);
/* What the client calls itself, without secrets; NULL: it does not say. */
const char *fw_mcp_client(fw_call *call);
void fw_mcp_tell_failing(fw_call *call, fw_error *err);
void fw_mcp_tell_finished(fw_call *call, const fw_error *err);

/* Which contract errors of this call are told in. */
fw_error *fw_mcp_choose_contract(fw_call *call);

/* ---- methods ----------------------------------------------------------------------------- */

struct fw_method {
	const char *name;
	enum fw_call_kind kind;
	bool in_legacy;
	bool in_modern;
	const char *name_param; /* "name", "uri": mirrored in Mcp-Name */
	bool (*is_offered)(const fw_server *server);
	fw_error *(*run)(fw_call *call);
};

const struct fw_method *fw_method_find(struct fw_text name);

fw_error *fw_method_initialize(fw_call *call);
fw_error *fw_method_discover(fw_call *call);
fw_error *fw_method_ping(fw_call *call);
fw_error *fw_method_set_level(fw_call *call);
fw_error *fw_method_tools_list(fw_call *call);
fw_error *fw_method_tools_call(fw_call *call);
fw_error *fw_method_resources_list(fw_call *call);
fw_error *fw_method_templates_list(fw_call *call);
fw_error *fw_method_resources_read(fw_call *call);
fw_error *fw_method_subscribe(fw_call *call);
fw_error *fw_method_unsubscribe(fw_call *call);
fw_error *fw_method_prompts_list(fw_call *call);
fw_error *fw_method_prompts_get(fw_call *call);
fw_error *fw_method_complete(fw_call *call);
fw_error *fw_method_listen(fw_call *call);

/* Reads a name or URI from `value` into the call. Raises protocol.invalid_params,
 * with `pointer` as its place, unless it is a string without NULs. */
fw_error *fw_mcp_read_name(fw_call *call, yyjson_val *value, const char *pointer);
/* Raises input.invalid_value if a key or string among the arguments holds a NUL,
 * because handlers read them as C strings. */
fw_error *fw_mcp_refuse_nul(const fw_call *call);
/* Arguments against a schema: the first violation decides the code. */
fw_error *fw_mcp_check_arguments(fw_call *call, const fw_schema *schema);

/* Eras (era.c). */
fw_error *fw_era_enter(fw_call *call);
fw_error *fw_era_check_params_headers(fw_call *call);
/* -1: there is no such level. */
int fw_log_level_find(struct fw_text name);

/* Listeners (listen.c). */
enum fw_change { FW_CHANGE_TOOLS, FW_CHANGE_PROMPTS, FW_CHANGE_RESOURCES, FW_CHANGE_RESOURCE };
void fw_listen_tell(fw_server *server, enum fw_change change, const char *uri);
void fw_listen_end(fw_call *call);

/* ---- the server ----------------------------------------------------------------------------- */

enum fw_server_state { FW_IDLE, FW_RUNNING, FW_DRAINING, FW_CLOSING, FW_CLOSED };

/* Work for the loop, from any thread. */
struct fw_post {
	struct fw_post *next;
	enum { FW_POST_SEND, FW_POST_FINISH, FW_POST_CHANGE, FW_POST_CLOSE_STREAM } kind;
	fw_call *call; /* a reference of its own */
	fw_error *err;
	enum fw_change change;
	uint32_t retry_ms;
	size_t len;
	char text[];
};

struct fw_server {
	uv_loop_t loop;
	uv_async_t wakeup;
	uv_timer_t timer;  /* the next deadline */
	uv_timer_t expiry; /* of sessions */
	uv_signal_t terms[2];
	uv_thread_t thread;
	enum fw_server_state state;
	bool is_prepared; /* what workers are copies of is made */
	atomic_int stop_wanted;
	uv_mutex_t lock;
	bool is_deaf;        /* nothing is posted any more; under the lock */
	bool has_stragglers; /* threads that use calls of this server */
	struct fw_later *laters;
	struct fw_post *posts;
	struct fw_post *last_post;
	struct fw_hold *released; /* the first let go first */
	struct fw_hold *last_released;
	/* Of the outcome that observers look at now, where it hid something. */
	char shown_trace[FW_SHOWN_SIZE];
	char last_words[512]; /* of a reply that there is no memory for */
	struct fw_transport *transports;
	struct fw_runner *runners;
	struct fw_runner *threads;        /* one of them; NULL: not needed yet */
	fw_workers *workers;              /* of process tools that name none; the same */
	fw_workers_factory *make_workers; /* creates that pool when it is first needed */
	fw_state *states;
	/* Options. */
	char *name, *version, *title, *instructions, *role, *workspace_root;
	char *session_id; /* with has_own_sessions: of the tools */
	bool has_own_sessions;
	fw_server_options options;
	struct fw_limits limits;
	char *implementation; /* {"name":...,"version":...} */
	char *modern_tail;    /* what modern results end with */
	size_t modern_tail_len;
	char *modern_meta; /* "_meta":{serverInfo} alone */
	struct fw_offers tools, resources, templates, prompts;
	bool has_completion;
	fw_observer *observers;
	size_t observer_count;
	struct fw_lane *lanes;
	struct fw_page_entry *pages;
	size_t page_count;
	struct fw_confine *confine;    /* of the process; NULL: it is not confined */
	struct fw_check_entry *checks; /* of /readyz */
	size_t check_count;
	struct fw_session *sessions; /* the most recently used first */
	size_t session_count;
	struct fw_owner *owners;
	fw_call *calls; /* under way */
	size_t call_count;
	size_t admitted_count; /* of these, those that count against in_flight */
	size_t listener_count;
	fw_call *free_calls;
	size_t free_count;
	struct fw_buf out;     /* the reply being written */
	struct fw_buf scratch; /* an error as text */
	unsigned char key[32]; /* of requestState */
	uint64_t deadline_next;
	uint64_t stop_ms; /* when the grace ends */
	bool is_past_grace;
};

/* How the process is confined, in two steps (worker/sandbox_server.c). Each is
 * taken once, on the server's thread. */
struct fw_confine {
	fw_error *(*limit_files)(struct fw_confine *confine); /* no thread was started yet */
	fw_error *(*limit_calls)(struct fw_confine *confine); /* before the first byte */
	void (*free)(struct fw_confine *confine);
};

/* A server without runners and transports. fw_server_new() (worker/register.c) adds
 * the factory of its default pool. */
fw_error *fw_server__create(const fw_server_options *options, fw_server **ret_server);
void fw_server__post(fw_server *server, struct fw_post *post);
void fw_server__take_posts(fw_server *server);
void fw_server__drop_post(struct fw_post *post);
void fw_server__watch(fw_server *server, uint64_t deadline_ms);
/* A stop goes on if no call is under way any more. Called from the loop alone. */
void fw_server__settle(fw_server *server);

/* ---- small things --------------------------------------------------------------------------- */

/* yyjson_obj_getn that takes a NULL object. */
yyjson_val *fw_member(yyjson_val *object, const char *name);
/* Mixes a C string with its NUL into a hash: "ab" and "c" are not "a" and "bc". */
uint64_t fw_mix(uint64_t hash, const char *text);
char *fw_strdup_n(const char *text, size_t len);
char *fw_strdup(const char *text);

/* requestState (state.c): protected, bound to what was asked and by whom. */
fw_error *fw_state_write(fw_call *call, struct fw_buf *out);
fw_error *fw_state_read(fw_call *call, struct fw_text state);

#endif
