/*
 * limits.h - every size, number and time that a peer can influence, by name.
 *
 * FW_LIMITS below is the one list of those that are set when a server is made
 * (fw_server_set_limit(), `faultwire serve --limit`): the structure, the
 * defaults, the help and the page in docs/ come from it, and a test fails for
 * a row that no test reaches. The constants under it are the rest: what sizes
 * an array, and what bounds a single error, which has no server.
 *
 * The one rule to remember: beyond a limit there is an answer. It has a
 * canonical error of its own (input.too_large, server.overloaded...); where an
 * error itself would grow too large, the excess is dropped, because failing
 * cannot fail.
 */
#ifndef FW_BASE_LIMITS_H
#define FW_BASE_LIMITS_H

#include <stdint.h>

/* What sizes an array, or is part of what an error is. */
enum {
	/* One error as text, in any contract. */
	FW_LIMIT_ENVELOPE_BYTES = 1024 * 1024,
	/* Nesting of JSON values that are kept (context, cause, empty result). */
	FW_LIMIT_JSON_DEPTH = 64,
	/* Links in a chain of causes; later wraps change the message alone. */
	FW_LIMIT_CAUSES = 16,
	/* Context fields that a raiser may add. What is read from a peer is
	 * bounded by the size of its envelope. */
	FW_LIMIT_FIELDS = 256,
	/* A message that is raised or wrapped; longer ones are cut. */
	FW_LIMIT_TEXT_BYTES = 16 * 1024,
	/* An id, as JSON text: each call has room for one. */
	FW_LIMIT_ID_BYTES = 256,
	/* A text that tools share. */
	FW_LIMIT_SHARED_BYTES = 1024 * 1024,
	/* Worker processes of one pool. */
	FW_LIMIT_WORKERS = 256,
	/* How long a run may go on after its call was cancelled, a worker that has
	 * closed its socket may take to be dead, and a new one to be made when the
	 * one before it did not come up. */
	FW_LIMIT_CANCEL_GRACE_MS = 500,
	FW_LIMIT_DEATH_MS = 50,
	FW_LIMIT_RESPAWN_MS = 250,
	/* A tool that has crashed so often in a row, and is not suspended, is told of
	 * each crash so much later: replacing workers is work that others notice. */
	FW_LIMIT_CRASHES_AT_ONCE = 5,
	FW_LIMIT_CRASH_PACE_MS = 10,
	/* What a tool writes to its standard error: of one event in the log and of
	 * the trail of a crash, and how much is read of each worker in a second. */
	FW_LIMIT_TOOL_TEXT_BYTES = 4 * 1024,
	FW_LIMIT_TOOL_TEXT_PER_S = 256 * 1024,
	/* Headers of one request: each connection has room for so many. */
	FW_LIMIT_HTTP_FIELDS = 128,
	/* The request target; what is read beyond a request that is not answered yet;
	 * how long an answer is kept back for a peer that has closed its side before
	 * it is tested whether it still reads; how long a connection without a byte is
	 * left alone when others need its place; how long a closing connection is read
	 * from; connections accepted at once. */
	FW_LIMIT_HTTP_TARGET_BYTES = 8 * 1024,
	FW_LIMIT_HTTP_READ_AHEAD_BYTES = 16 * 1024,
	FW_LIMIT_HTTP_HALF_CLOSED_MS = 250,
	FW_LIMIT_HTTP_SILENT_MS = 50,
	FW_LIMIT_HTTP_LINGER_MS = 1000,
	FW_LIMIT_HTTP_ACCEPTS = 64,
	/* Buffers up to this size are kept after use. */
	FW_LIMIT_HTTP_KEPT_BYTES = 64 * 1024,
	/* Pages that a server has beside the endpoint. */
	FW_LIMIT_PAGES = 64,
	/* Labels of metrics that others can mint: tools (the rest is "other"),
	 * series of one metric, bytes of one value. */
	FW_LIMIT_METRIC_TOOLS = 256,
	FW_LIMIT_METRIC_SERIES = 2048,
	FW_LIMIT_METRIC_LABEL_BYTES = 64,
	/* Gauges that parts of the server add. */
	FW_LIMIT_METRIC_GAUGES = 64,
	/* Clients with alerts of their own (the rest is "other"), bytes of a name. */
	FW_LIMIT_ALERT_CLIENTS = 64,
	FW_LIMIT_ALERT_CLIENT_BYTES = 64,
	/* Alerts that wait to be delivered, attempts at one, time for an attempt. */
	FW_LIMIT_ALERT_QUEUE = 256,
	FW_LIMIT_ALERT_ATTEMPTS = 8,
	FW_LIMIT_ALERT_SEND_MS = 10 * 1000,
	/* What a worker process gets when its pool names nothing else; and how many
	 * processes may be added to those of its user. */
	FW_LIMIT_WORKER_MEMORY_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_WORKER_FILE_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_WORKER_FILES = 64,
	FW_LIMIT_WORKER_PROCESSES = 512,
	/* One record of the audit log: a text of it, its cause, its arguments where
	 * they are kept, and the whole line. */
	FW_LIMIT_AUDIT_TEXT_BYTES = 1024,
	FW_LIMIT_AUDIT_CAUSE_BYTES = 16 * 1024,
	FW_LIMIT_AUDIT_ARGS_BYTES = 64 * 1024,
	FW_LIMIT_AUDIT_LINE_BYTES = 512 * 1024,
	/* Records that wait to be written, their bytes, and the bytes of one write. */
	FW_LIMIT_AUDIT_QUEUE = 16384,
	FW_LIMIT_AUDIT_QUEUE_BYTES = 64 * 1024 * 1024,
	FW_LIMIT_AUDIT_BATCH_BYTES = 1024 * 1024,
	/* A log of so many bytes is rotated away. */
	FW_LIMIT_AUDIT_FILE_BYTES = 64 * 1024 * 1024,
	/* How long to wait for its lock, between fdatasyncs, between attempts while
	 * it cannot be written, and for the disk when all ends. */
	FW_LIMIT_AUDIT_LOCK_MS = 2000,
	FW_LIMIT_AUDIT_INTERVAL_MS = 200,
	FW_LIMIT_AUDIT_PROBE_MS = 500,
	FW_LIMIT_AUDIT_CLOSE_MS = 5000,
	/* Records of strangers that were refused: at once, and then a second. What is
	 * left out is counted in a note, one in so many milliseconds. */
	FW_LIMIT_AUDIT_STRANGERS = 100,
	FW_LIMIT_AUDIT_STRANGERS_PER_S = 1,
	FW_LIMIT_AUDIT_STRANGERS_NOTE_MS = 10000,
	/* Incidents that wait for the disk; one larger than this is kept without
	 * its context. */
	FW_LIMIT_INCIDENT_QUEUE_BYTES = 8 * 1024 * 1024,
	FW_LIMIT_INCIDENT_BYTES = 1024 * 1024,
	/* How long incidents are kept, and how large their database gets. */
	FW_LIMIT_INCIDENT_AGE_S = 30 * 24 * 3600,
	FW_LIMIT_INCIDENT_STORE_BYTES = 256 * 1024 * 1024,
	/* Lines of the log that wait for a reader, one of them, and its context. */
	FW_LIMIT_LOG_QUEUE_BYTES = 1024 * 1024,
	FW_LIMIT_LOG_TEXT_BYTES = 4 * 1024,
	FW_LIMIT_LOG_CONTEXT_BYTES = 16 * 1024,
	/* Lines of one code: so many at once, and so many a second. */
	FW_LIMIT_LOG_BURST = 20,
	FW_LIMIT_LOG_PER_S = 10,
	/* Context caches: a query; a name of one; a document's content, and the
	 * file that holds it, whose escapes may be longer; a list of documents, and
	 * how many of them; folders within folders of sources; files told that no
	 * list knows; caches that a server keeps open. */
	FW_LIMIT_CONTEXT_QUERY_BYTES = 16 * 1024,
	FW_LIMIT_CONTEXT_NAME_BYTES = 4096,
	FW_LIMIT_CONTEXT_CONTENT_BYTES = 16 * 1024 * 1024,
	FW_LIMIT_CONTEXT_FILE_BYTES = 100 * 1024 * 1024,
	FW_LIMIT_CONTEXT_LIST_BYTES = 512 * 1024 * 1024,
	FW_LIMIT_CONTEXT_DOCUMENTS = 1000 * 1000,
	FW_LIMIT_CONTEXT_DEPTH = 64,
	FW_LIMIT_CONTEXT_ORPHANS = 1000,
	FW_LIMIT_CONTEXT_CACHES = 8,
	/* A result as the command line prints it, and as a tool gives it to the
	 * server, which has a limit of its own. */
	FW_LIMIT_CONTEXT_OUTPUT_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_CONTEXT_RESULT_BYTES = 64 * 1024 * 1024,
};

#define FW__KIB 1024u
#define FW__MIB (1024u * 1024)

/*
 * X(name, default, least, most, summary). Names end in _bytes, _ms, _percent or
 * _per_second where they are not plain numbers. The least is what still lets a
 * server work; the most is where a number stops being a limit.
 */
#define FW_LIMITS(X)                                                                           \
	X(message_bytes, 4 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB,                              \
	  "one message: a line, the body of a request")                                        \
	X(message_depth, 128, 8, 1024, "nesting of its JSON")                                  \
	X(batch_messages, 64, 1, 1024, "messages of one batch")                                \
	X(violations, 16, 1, 256, "broken rules that one error lists")                         \
	X(result_bytes, 8 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB, "what a handler adds up to")  \
	X(in_flight, 1024, 1, 65536, "calls under way in all")                                 \
	X(client_in_flight, 256, 1, 65536, "calls under way of one client")                    \
	X(queue_length, 512, 1, 65536, "calls that wait for a slot of a runner")               \
	X(client_queue_length, 128, 1, 65536, "of these, calls of one client")                 \
	X(client_lanes, 256, 1, 4096, "clients that are told apart at once; more share")       \
	X(client_share_percent, 50, 1, 100, "slots that one client holds while others wait")   \
	X(tool_share_percent, 75, 1, 100, "slots that one tool holds while others wait")       \
	X(calls_per_second, 0, 0, 1000000, "calls of one client; 0 is no such limit")          \
	X(calls_burst, 20, 1, 1000000, "calls that it may make at once")                       \
	X(threads, 16, 1, 256, "threads that run handlers")                                    \
	X(threads_extra, 16, 0, 256, "and more of them, for who would starve otherwise")       \
	X(progress_per_second, 20, 1, 1000000, "progress of one call; more is merged")         \
	X(progress_burst, 20, 1, 1000000, "progress that may come at once")                    \
	X(logs_per_second, 50, 1, 1000000, "log messages of one call; more are dropped")       \
	X(logs_burst, 200, 1, 1000000, "log messages that may come at once")                   \
	X(sessions, 1024, 1, 65536, "legacy sessions")                                         \
	X(session_idle_ms, 1800000, 100, 86400000, "how long an unused session is kept")       \
	X(session_spare_ms, 10000, 0, 86400000, "unused so long, it makes room for a new one") \
	X(subscriptions, 256, 1, 65536, "resources that a session or listener follows")        \
	X(listeners, 256, 1, 65536, "listeners in all")                                        \
	X(stream_events, 256, 1, 65536, "events kept for a stream that may be resumed")        \
	X(stream_bytes, 1 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB, "their bytes")                \
	X(questions, 32, 1, 1024, "questions of one call")                                     \
	X(rounds, 16, 1, 1024, "rounds of asking of one call")                                 \
	X(answer_bytes, 256 * FW__KIB, 64, 16 * FW__MIB,                                       \
	  "answers to the questions of one call")                                              \
	X(state_ms, 600000, 1000, 86400000, "how long a requestState is good for")             \
	X(stdio_queue_bytes, 1 * FW__MIB, 4 * FW__KIB, 256 * FW__MIB,                          \
	  "unsent output at which stdio stops reading")                                        \
	X(stdio_unsent_bytes, 64 * FW__MIB, 64 * FW__KIB, 1024 * FW__MIB,                      \
	  "unsent output at which stdio gives up")                                             \
	X(http_connections, 512, 1, 65536, "open connections")                                 \
	X(http_spare_ms, 1000, 0, 86400000, "idle so long, one makes room for a new one")      \
	X(http_head_bytes, 12 * FW__KIB, 2 * FW__KIB, 1 * FW__MIB,                             \
	  "first line and headers of one request")                                             \
	X(http_fields, FW_LIMIT_HTTP_FIELDS, 8, FW_LIMIT_HTTP_FIELDS,                          \
	  "headers of one request")                                                            \
	X(http_drain_bytes, 8 * FW__MIB, 0, 256 * FW__MIB,                                     \
	  "how much of a refused body is read")                                                \
	X(http_unread_bytes, 128 * FW__MIB, 1 * FW__MIB, 4096ull * FW__MIB,                    \
	  "request bodies that are being read, in all")                                        \
	X(http_queue_bytes, 16 * FW__MIB, 64 * FW__KIB, 1024 * FW__MIB,                        \
	  "unsent bytes of one answer")                                                        \
	X(http_held_bytes, 256 * FW__MIB, 1 * FW__MIB, 4096ull * FW__MIB,                      \
	  "unsent bytes of all answers")                                                       \
	X(http_idle_ms, 60000, 100, 86400000, "how long between requests")                     \
	X(http_head_ms, 10000, 100, 86400000, "how long for the headers of one")               \
	X(http_body_ms, 30000, 100, 86400000, "how long for the body of one")                  \
	X(http_read_ms, 120000, 100, 86400000, "how long for reading an answer")               \
	X(http_patience_ms, 5000, 10, 86400000, "after so long an answer becomes a stream")    \
	X(http_silence_ms, 15000, 10, 86400000, "after so long a stream says something")       \
	X(page_bytes, 8 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB, "one page beside the endpoint") \
	X(flush_ms, 1000, 0, 60000, "how long a stop waits for output to be taken")

struct fw_limits {
#define FW__LIMIT_MEMBER(name, value, least, most, summary) uint64_t name;
	FW_LIMITS(FW__LIMIT_MEMBER)
#undef FW__LIMIT_MEMBER
};

#define FW__LIMIT_VALUE(name, value, least, most, summary) .name = (value),
#define FW_LIMITS_INIT                     \
	{                                  \
		FW_LIMITS(FW__LIMIT_VALUE) \
	}

#endif
