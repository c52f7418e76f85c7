/*
 * limits.h - every size, count and time that a peer can influence, by name.
 *
 * FW_LIMITS below lists those that can be set when a server is created
 * (fw_server_set_limit(), `faultwire serve --limit`). The struct, the defaults, the
 * help text and the page in docs/ are generated from it, and a test fails for a limit
 * that no test reaches. The constants above it are fixed: they size arrays, or bound
 * a single error, which has no server.
 *
 * The one rule to remember: exceeding a limit gets an answer, with a canonical error
 * (input.too_large, server.overloaded...). Only if an error itself would grow too large,
 * the excess is dropped, because raising an error cannot fail.
 */
#ifndef FW_BASE_LIMITS_H
#define FW_BASE_LIMITS_H

#include <stdint.h>

/* Fixed limits. */
enum {
	/* One error as text, in any contract. */
	FW_LIMIT_ENVELOPE_BYTES = 1024 * 1024,
	/* A JSON text whose reader has no smaller limit of its own. */
	FW_LIMIT_JSON_BYTES = 512 * 1024 * 1024,
	/* A text that is written with <faultwire/json.h>. */
	FW_LIMIT_JSON_WRITE_BYTES = 64 * 1024 * 1024,
	/* Nesting of JSON values in an error (context, cause, empty result). */
	FW_LIMIT_JSON_DEPTH = 64,
	/* Causes of one error; wraps beyond that change only the message. */
	FW_LIMIT_CAUSES = 16,
	/* Context fields that code may add. Fields read from a peer are limited by
	 * the size of the envelope. */
	FW_LIMIT_FIELDS = 256,
	/* Message of an error; a longer one is cut. */
	FW_LIMIT_TEXT_BYTES = 16 * 1024,
	/* How far beyond the cut a text is searched for secrets before it is cut, because only
	 * the end of a secret may identify it; also the window in which a stream is
	 * searched. */
	FW_LIMIT_REDACT_AHEAD_BYTES = 16 * 1024,
	FW_LIMIT_REDACT_WINDOW_BYTES = 16 * 1024,
	/* An id, as JSON text: each call has room for one. */
	FW_LIMIT_ID_BYTES = 256,
	/* One text shared between tools. */
	FW_LIMIT_SHARED_BYTES = 1024 * 1024,
	/* Worker processes per pool. */
	FW_LIMIT_WORKERS = 256,
	/* How long a handler may continue after its call was cancelled, and a worker may take
	 * to exit after it closed its socket; delay before a failed worker is started again. */
	FW_LIMIT_CANCEL_GRACE_MS = 500,
	FW_LIMIT_DEATH_MS = 50,
	FW_LIMIT_RESPAWN_MS = 250,
	/* After this many consecutive crashes of a tool that is not suspended, each crash is
	 * reported with this delay, because replacing workers slows down other calls. */
	FW_LIMIT_CRASHES_AT_ONCE = 5,
	FW_LIMIT_CRASH_PACE_MS = 10,
	/* Stderr of a tool: bytes kept per log event and in the report of a crash;
	 * bytes read per worker and second. */
	FW_LIMIT_TOOL_TEXT_BYTES = 4 * 1024,
	FW_LIMIT_TOOL_TEXT_PER_S = 256 * 1024,
	/* Headers of one request; each connection has room for this many. */
	FW_LIMIT_HTTP_FIELDS = 128,
	/* In this order: the request target; input that is read ahead of a request that
	 * is not answered yet; how long an answer waits for a peer that has closed its
	 * side, before a probe finds out whether the peer still reads; when a connection
	 * without a byte may be evicted; how long a closing connection is read from in
	 * all, and how long without a byte; connections accepted in one iteration. */
	FW_LIMIT_HTTP_TARGET_BYTES = 8 * 1024,
	FW_LIMIT_HTTP_READ_AHEAD_BYTES = 16 * 1024,
	FW_LIMIT_HTTP_HALF_CLOSED_MS = 250,
	FW_LIMIT_HTTP_SILENT_MS = 50,
	FW_LIMIT_HTTP_LINGER_MS = 30 * 1000,
	FW_LIMIT_HTTP_LINGER_SILENT_MS = 5 * 1000,
	FW_LIMIT_HTTP_ACCEPTS = 64,
	/* Buffers up to this size are kept after use. */
	FW_LIMIT_HTTP_KEPT_BYTES = 64 * 1024,
	/* A response head with a small body; the unsent output of one connection, which
	 * is more than http_queue_bytes may be. */
	FW_LIMIT_HTTP_REPLY_HEAD_BYTES = 64 * 1024,
	FW_LIMIT_HTTP_OUTPUT_BYTES = 2047 * 1024 * 1024,
	/* How long a connection of the HTTP client may take to come up. */
	FW_LIMIT_FETCH_CONNECT_MS = 10 * 1000,
	/* A child process that we speak to: one line of its output, what waits to be sent to it,
	 * the end of its standard error, the buffer kept between two lines; how long its output may
	 * stay open after its exit, and it may take to exit after its output or input was closed. */
	FW_LIMIT_CHILD_LINE_BYTES = 16 * 1024 * 1024,
	FW_LIMIT_CHILD_UNSENT_BYTES = 32 * 1024 * 1024,
	FW_LIMIT_CHILD_STDERR_BYTES = 16 * 1024,
	FW_LIMIT_CHILD_KEPT_BYTES = 256 * 1024,
	FW_LIMIT_CHILD_DRAIN_MS = 500,
	FW_LIMIT_CHILD_EXIT_MS = 250,
	FW_LIMIT_CHILD_GOODBYE_MS = 500,
	/* Event types and event ids of a stream that we read, and the buffer that a
	 * reader keeps between two events. */
	FW_LIMIT_SSE_NAME_BYTES = 1024,
	FW_LIMIT_SSE_KEPT_BYTES = 64 * 1024,
	/* Pages that a server has beside the endpoint. */
	FW_LIMIT_PAGES = 64,
	/* The headers that one page adds to its answer. */
	FW_LIMIT_PAGE_HEADER_BYTES = 8 * 1024,
	/* Labels of metrics that clients can influence: tools (the rest is
	 * "other"), series per metric, bytes per value. */
	FW_LIMIT_METRIC_TOOLS = 256,
	FW_LIMIT_METRIC_SERIES = 2048,
	FW_LIMIT_METRIC_LABEL_BYTES = 64,
	/* Gauges added by parts of the server. */
	FW_LIMIT_METRIC_GAUGES = 64,
	/* Clients with separate alerts (the rest is "other"); bytes of a client
	 * name. */
	FW_LIMIT_ALERT_CLIENTS = 64,
	FW_LIMIT_ALERT_CLIENT_BYTES = 64,
	/* Alerts waiting for delivery, attempts per alert, timeout of an attempt. */
	FW_LIMIT_ALERT_QUEUE = 256,
	FW_LIMIT_ALERT_ATTEMPTS = 8,
	FW_LIMIT_ALERT_SEND_MS = 10 * 1000,
	/* Defaults for a worker process; and how many processes it may add to those
	 * of its user. */
	FW_LIMIT_WORKER_MEMORY_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_WORKER_FILE_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_WORKER_FILES = 64,
	FW_LIMIT_WORKER_PROCESSES = 512,
	/* One record of the audit log: a text, the message, the cause, the context of the
	 * error, the arguments if they are recorded, and the complete line. */
	FW_LIMIT_AUDIT_TEXT_BYTES = 1024,
	FW_LIMIT_AUDIT_MESSAGE_BYTES = 4 * 1024,
	FW_LIMIT_AUDIT_CAUSE_BYTES = 16 * 1024,
	FW_LIMIT_AUDIT_CONTEXT_BYTES = 16 * 1024,
	FW_LIMIT_AUDIT_ARGS_BYTES = 64 * 1024,
	FW_LIMIT_AUDIT_PATHS = 100,
	FW_LIMIT_AUDIT_LINE_BYTES = 512 * 1024,
	/* Records waiting to be written, their bytes, and the bytes of one write. */
	FW_LIMIT_AUDIT_QUEUE = 16384,
	FW_LIMIT_AUDIT_QUEUE_BYTES = 64 * 1024 * 1024,
	FW_LIMIT_AUDIT_BATCH_BYTES = 1024 * 1024,
	/* Size at which an audit log is rotated. */
	FW_LIMIT_AUDIT_FILE_BYTES = 64 * 1024 * 1024,
	/* How long to wait for the lock; interval between fdatasync calls; interval
	 * between attempts while the log cannot be written; how long to wait for
	 * the disk at shutdown. */
	FW_LIMIT_AUDIT_LOCK_MS = 2000,
	FW_LIMIT_AUDIT_INTERVAL_MS = 200,
	FW_LIMIT_AUDIT_PROBE_MS = 500,
	FW_LIMIT_AUDIT_CLOSE_MS = 5000,
	/* How long a worker tries to end what a preflight command left running. */
	FW_LIMIT_PREFLIGHT_END_MS = 10000,
	/* Temporary files of a preflight command: bytes and number; how often they are
	 * counted while it runs. */
	FW_LIMIT_PREFLIGHT_TEMP_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_PREFLIGHT_TEMP_FILES = 65536,
	FW_LIMIT_PREFLIGHT_CHECK_MS = 250,
	/* One call of a governed workspace: files that it changes, directories that it
	 * creates, old and new bytes of these files together. */
	FW_LIMIT_WORKSPACE_FILES = 100,
	FW_LIMIT_WORKSPACE_DIRECTORIES = 64,
	FW_LIMIT_WORKSPACE_BYTES = 48 * 1024 * 1024,
	/* Clients of a workspace that have a session, and what one search may look at and
	 * find. */
	FW_LIMIT_WORKSPACE_SESSIONS = 256,
	FW_LIMIT_WORKSPACE_WALK = 200000,
	FW_LIMIT_WORKSPACE_FOUND = 1000,
	FW_LIMIT_WORKSPACE_SEARCH_BYTES = 256 * 1024 * 1024,
	FW_LIMIT_WORKSPACE_SEARCH_MS = 20000,
	/* Records of refused requests of unauthenticated peers: burst, and rate per
	 * second. Others are counted in a note, at most one per interval. */
	FW_LIMIT_AUDIT_UNAUTHENTICATED = 100,
	FW_LIMIT_AUDIT_UNAUTHENTICATED_PER_S = 1,
	FW_LIMIT_AUDIT_UNAUTHENTICATED_NOTE_MS = 10000,
	/* Incidents of such requests that are kept. They are recorded at the same rate. */
	FW_LIMIT_INCIDENT_UNAUTHENTICATED = 1000,
	/* Incidents waiting to be written; size above which an incident is stored
	 * without its context. */
	FW_LIMIT_INCIDENT_QUEUE_BYTES = 8 * 1024 * 1024,
	FW_LIMIT_INCIDENT_BYTES = 1024 * 1024,
	/* How long incidents are kept, and the size limit of their database. */
	FW_LIMIT_INCIDENT_AGE_S = 30 * 24 * 3600,
	FW_LIMIT_INCIDENT_STORE_BYTES = 256 * 1024 * 1024,
	/* Rows of a store: kind; key and owner; value; changes in one transaction; calls
	 * waiting for the store's thread. */
	FW_LIMIT_STORE_KIND_BYTES = 64,
	FW_LIMIT_STORE_KEY_BYTES = 512,
	FW_LIMIT_STORE_VALUE_BYTES = 256 * 1024,
	FW_LIMIT_STORE_CHANGES = 128,
	FW_LIMIT_STORE_QUEUE = 4096,
	/* Log lines waiting to be read, size of one line, and of its context. */
	FW_LIMIT_LOG_QUEUE_BYTES = 1024 * 1024,
	FW_LIMIT_LOG_TEXT_BYTES = 4 * 1024,
	FW_LIMIT_LOG_CONTEXT_BYTES = 16 * 1024,
	/* Lines per error code: burst, and rate per second. */
	FW_LIMIT_LOG_BURST = 20,
	FW_LIMIT_LOG_PER_S = 10,
	/* Context caches: query; name of a cache; content of a document, and the
	 * file that contains it, which is longer because of escapes; manifest or
	 * index, and number of documents; nesting of source directories; unlisted
	 * files that are reported; caches kept open by a server. */
	FW_LIMIT_CONTEXT_QUERY_BYTES = 16 * 1024,
	FW_LIMIT_CONTEXT_NAME_BYTES = 4096,
	FW_LIMIT_CONTEXT_CONTENT_BYTES = 16 * 1024 * 1024,
	FW_LIMIT_CONTEXT_FILE_BYTES = 100 * 1024 * 1024,
	FW_LIMIT_CONTEXT_LIST_BYTES = 512 * 1024 * 1024,
	FW_LIMIT_CONTEXT_DOCUMENTS = 1000 * 1000,
	FW_LIMIT_CONTEXT_DEPTH = 64,
	FW_LIMIT_CONTEXT_ORPHANS = 1000,
	FW_LIMIT_CONTEXT_CACHES = 8,
	/* Size of a result on the command line, and of a tool, which is also
	 * subject to the limits of the server. */
	FW_LIMIT_CONTEXT_OUTPUT_BYTES = 1024 * 1024 * 1024,
	FW_LIMIT_CONTEXT_RESULT_BYTES = 64 * 1024 * 1024,
};

#define FW__KIB 1024u
#define FW__MIB (1024u * 1024)

/*
 * X(name, default, least, most, summary). Names end in _bytes, _ms, _percent or
 * _per_second unless they are plain counts. A server still works with the least
 * value; above the most a limit would have no effect.
 */
#define FW_LIMITS(X)                                                                           \
	X(message_bytes, 4 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB,                              \
	  "size of a message (line or request body)")                                          \
	X(message_depth, 128, 8, 1024, "nesting of the JSON of a message")                     \
	X(batch_messages, 64, 1, 1024, "messages per batch")                                   \
	X(violations, 16, 1, 256, "violations listed in one error")                            \
	X(result_bytes, 8 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB, "size of one result")         \
	X(in_flight, 1024, 1, 65536, "calls in progress")                                      \
	X(client_in_flight, 256, 1, 65536, "calls in progress per client")                     \
	X(queue_length, 512, 1, 65536, "calls waiting for a slot")                             \
	X(client_queue_length, 128, 1, 65536, "calls of one client waiting for a slot")        \
	X(client_lanes, 256, 1, 4096, "clients scheduled separately; more share lanes")        \
	X(client_share_percent, 50, 1, 100, "slots one client may use while others wait")      \
	X(tool_share_percent, 75, 1, 100, "slots one tool may use while others wait")          \
	X(calls_per_second, 0, 0, 1000000, "calls per client; 0: no limit")                    \
	X(calls_burst, 20, 1, 1000000, "burst of calls per client")                            \
	X(threads, 16, 1, 256, "threads that run handlers")                                    \
	X(threads_extra, 16, 0, 256, "extra threads to prevent starvation")                    \
	X(progress_per_second, 20, 1, 1000000,                                                 \
	  "progress notifications per call; more are merged")                                  \
	X(progress_burst, 20, 1, 1000000, "burst of progress notifications")                   \
	X(logs_per_second, 50, 1, 1000000, "log messages per call; more are dropped")          \
	X(logs_burst, 200, 1, 1000000, "burst of log messages")                                \
	X(sessions, 1024, 1, 65536, "legacy sessions")                                         \
	X(client_sessions, 768, 1, 65536, "of these, sessions of one token and address")       \
	X(session_streams, 32, 1, 65536, "closed streams of one session that can be resumed")  \
	X(session_stream_bytes, 4 * FW__MIB, 1 * FW__KIB, 1024 * FW__MIB,                      \
	  "their events, the newest of each aside")                                            \
	X(session_idle_ms, 1800000, 100, 86400000, "how long an unused session is kept")       \
	X(session_spare_ms, 10000, 0, 86400000,                                                \
	  "idle time after which a session may be evicted")                                    \
	X(subscriptions, 256, 1, 65536, "subscriptions per session or listener")               \
	X(listeners, 256, 1, 65536, "open listeners")                                          \
	X(stream_events, 256, 1, 65536, "events kept per resumable stream")                    \
	X(stream_bytes, 1 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB,                               \
	  "bytes of events kept per resumable stream")                                         \
	X(questions, 32, 1, 1024, "questions per call")                                        \
	X(rounds, 16, 1, 1024, "rounds of questions per call")                                 \
	X(answer_bytes, 256 * FW__KIB, 64, 16 * FW__MIB,                                       \
	  "answers to the questions of one call")                                              \
	X(state_ms, 600000, 1000, 86400000, "how long a requestState is valid")                \
	X(stdio_queue_bytes, 1 * FW__MIB, 4 * FW__KIB, 256 * FW__MIB,                          \
	  "unsent output at which stdio stops reading")                                        \
	X(stdio_unsent_bytes, 64 * FW__MIB, 64 * FW__KIB, 1024 * FW__MIB,                      \
	  "unsent output at which stdio is closed")                                            \
	X(http_connections, 512, 1, 65536, "open connections")                                 \
	X(http_spare_ms, 1000, 0, 86400000,                                                    \
	  "idle time after which a connection may be evicted")                                 \
	X(http_head_bytes, 12 * FW__KIB, 2 * FW__KIB, 1 * FW__MIB,                             \
	  "first line and headers of one request")                                             \
	X(http_fields, FW_LIMIT_HTTP_FIELDS, 8, FW_LIMIT_HTTP_FIELDS,                          \
	  "headers of one request")                                                            \
	X(http_drain_bytes, 8 * FW__MIB, 0, 256 * FW__MIB,                                     \
	  "how much of a refused body is read")                                                \
	X(http_unread_bytes, 128 * FW__MIB, 1 * FW__MIB, 4096ull * FW__MIB,                    \
	  "request bodies that are being read, in all")                                        \
	X(http_queue_bytes, 16 * FW__MIB, 64 * FW__KIB, 1024 * FW__MIB,                        \
	  "unsent bytes of one reply")                                                         \
	X(http_held_bytes, 256 * FW__MIB, 1 * FW__MIB, 4096ull * FW__MIB,                      \
	  "unsent bytes of all replies")                                                       \
	X(http_idle_ms, 60000, 100, 86400000, "idle time between requests")                    \
	X(http_head_ms, 10000, 100, 86400000, "time to receive the headers")                   \
	X(http_body_ms, 30000, 100, 86400000, "time to receive the body")                      \
	X(http_read_ms, 120000, 100, 86400000, "time for the client to read a reply")          \
	X(http_patience_ms, 5000, 10, 86400000, "time after which a reply becomes a stream")   \
	X(http_silence_ms, 15000, 10, 86400000, "interval of keep-alive comments on a stream") \
	X(page_bytes, 8 * FW__MIB, 1 * FW__KIB, 256 * FW__MIB, "size of one page")             \
	X(page_ms, 30000, 10, 86400000, "time for a page to answer")                           \
	X(page_streams, 128, 1, 65536, "open event streams of pages")                          \
	X(flush_ms, 1000, 0, 60000, "how long a stop waits for output to be read")

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
