/*
 * limits.h - every size that a peer can influence, by name.
 *
 * A limit that is passed has a canonical error of its own (input.too_large,
 * input.too_deep); where an error itself would grow too large, the excess is
 * dropped, because failing cannot fail.
 */
#ifndef FW_BASE_LIMITS_H
#define FW_BASE_LIMITS_H

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

	/* One MCP message: a line, the body of a request. */
	FW_LIMIT_MESSAGE_BYTES = 4 * 1024 * 1024,
	/* Nesting of its JSON. */
	FW_LIMIT_MESSAGE_DEPTH = 128,
	/* What a handler adds up to; the official clients give up at 10 MiB. */
	FW_LIMIT_RESULT_BYTES = 8 * 1024 * 1024,
	/* An id, as JSON text. */
	FW_LIMIT_ID_BYTES = 256,
	/* Requests under way in a server, and those of one batch. */
	FW_LIMIT_IN_FLIGHT = 1024,
	FW_LIMIT_BATCH = 64,
	/* Threads that run handlers. */
	FW_LIMIT_THREADS = 16,
	/* Legacy sessions; the longest idle one makes room, if it is idle so long. */
	FW_LIMIT_SESSIONS = 1024,
	FW_LIMIT_SESSION_IDLE_S = 1800,
	FW_LIMIT_SESSION_SPARE_S = 10,
	/* Resources one session or listener subscribes to; listeners of a server. */
	FW_LIMIT_SUBSCRIPTIONS = 256,
	FW_LIMIT_LISTENERS = 256,
	/* Events kept for a stream that may be resumed. */
	FW_LIMIT_STREAM_EVENTS = 256,
	FW_LIMIT_STREAM_BYTES = 1024 * 1024,
	/* Questions of one call, rounds of asking, and bytes of its answers. */
	FW_LIMIT_QUESTIONS = 32,
	FW_LIMIT_ROUNDS = 16,
	FW_LIMIT_ANSWER_BYTES = 256 * 1024,
	/* How long a requestState is good for, and an unanswered question. */
	FW_LIMIT_STATE_S = 600,
	/* Unsent output of stdio at which reading pauses. */
	FW_LIMIT_STDIO_QUEUE_BYTES = 1024 * 1024,
	/* Open HTTP connections, and unsent bytes of one stream. */
	FW_LIMIT_HTTP_CONNECTIONS = 512,
	FW_LIMIT_HTTP_QUEUE_BYTES = 16 * 1024 * 1024,
	/* What a connection may hold of a request before its body: the first line
	 * and the headers, and how many of them. The library wipes as much after
	 * each request, which shows in the number of requests per second. */
	FW_LIMIT_HTTP_HEAD_BYTES = 12 * 1024,
	FW_LIMIT_HTTP_FIELDS = 128,
	/* A refused body is read to its end up to here, so that the client sees
	 * the refusal and not a reset; and buffers that outlive a request. */
	FW_LIMIT_HTTP_DRAIN_BYTES = 8 * 1024 * 1024,
	FW_LIMIT_HTTP_KEPT_BYTES = 64 * 1024,
	/* How long between requests, for the headers, and for the body of one. */
	FW_LIMIT_HTTP_IDLE_MS = 60 * 1000,
	FW_LIMIT_HTTP_HEAD_MS = 10 * 1000,
	FW_LIMIT_HTTP_BODY_MS = 30 * 1000,
	/* After so long an answer becomes a stream, and a stream says something. */
	FW_LIMIT_HTTP_PATIENCE_MS = 5 * 1000,
	FW_LIMIT_HTTP_SILENCE_MS = 15 * 1000,
	/* How long a stop waits for output to be taken. */
	FW_LIMIT_FLUSH_MS = 1000,
	/* Violations listed in one error. */
	FW_LIMIT_VIOLATIONS = 16,

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
};

#endif
