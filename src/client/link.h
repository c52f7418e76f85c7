/*
 * link.h - one connection to an MCP server: a child process spoken to over pipes, or
 * a Streamable HTTP endpoint. It carries messages as bytes and knows nothing about
 * their meaning, except for the HTTP headers that mirror it.
 *
 * The one rule to remember: each accepted request (`key` not 0) ends in exactly one
 * of: a message that answers it, `failed` with its key, or `ended`, which ends all of
 * them. After `ended`, and after fw_link_free(), no callback is called any more.
 */
#ifndef FW_CLIENT_LINK_H
#define FW_CLIENT_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"
#include "io/fetch.h"
#include "rpc/slice.h"

struct fw_fetcher;
struct fw_link;

/* Limits for a server of which this program is a client. */
enum {
	FW_LIMIT_HANDSHAKE_MS = 30 * 1000,   /* time for the handshake */
	FW_LIMIT_PROBE_MS = 3 * 1000,        /* part of it that a probe may take */
	FW_LIMIT_PROBE_START_MS = 10 * 1000, /* the same, for a program that is starting */
	FW_LIMIT_CRASH_REPORT_MS = 40,       /* a call may continue after a crash report */
	FW_LIMIT_NO_NEWLINE_MS = 500,        /* a newline may follow its message */
	FW_LIMIT_REPLY_DEPTH = 512,          /* nesting of a message */
	FW_LIMIT_HELLO_BYTES = 256 * 1024,   /* answer to the handshake */
};

/* Where a server is. All of it is borrowed for the life of the link. */
struct fw_link_target {
	const char *name; /* name of the server in errors: upstream "github" */
	/* A program; NULL: HTTP. As for fw_child_start(). */
	const char *const *argv;
	const char *const *environment;
	const char *directory;
	int ruleset; /* Landlock rules, a descriptor; 0: none */
	/* Or an endpoint. */
	const char *url;
	const char *const *headers; /* lines "Name: value"; NULL: none */
	uint32_t connect_ms;        /* 0: FW_LIMIT_FETCH_CONNECT_MS */
	bool is_by_line;            /* messages have no line breaks, even over HTTP */
	/* Limit of one message; 0: FW_LIMIT_CHILD_LINE_BYTES. */
	size_t message_bytes;
};

/* Why a link reports text that is not a message. */
enum fw_link_noise {
	FW_LINK_TOO_LARGE, /* a message over the limit was dropped; the text is its start */
	FW_LINK_CUT        /* the output ended inside a message; the text is its start */
};

/* How a process ended. */
struct fw_link_ending {
	enum { FW_LINK_EXITED, FW_LINK_CRASHED, FW_LINK_CLOSED } how;
	int status; /* FW_LINK_EXITED */
	int signum; /* FW_LINK_CRASHED */
};

struct fw_link_callbacks {
	/* One line, one HTTP body, or one event. `key` is the request whose response it
	 * is part of; 0: not known (stdio, the GET stream). The text is borrowed. */
	void (*message)(void *ctx, uint64_t key, const char *text, size_t len);
	void (*noise)(void *ctx, uint64_t key, enum fw_link_noise noise, const char *text,
		      size_t len);
	/* stdio: the output read so far ends inside a line that begins with this text. */
	void (*partial)(void *ctx, const char *text, size_t len);
	/* HTTP: the request failed, or its response ended. `err` NULL: the response is
	 * complete; the link does not know whether one of its messages was the answer,
	 * but the callee does. The callee owns `err`. */
	void (*failed)(void *ctx, uint64_t key, fw_error *err);
	/* HTTP: true if the request has no answer yet. Its stream is then resumed if the
	 * server allows that. */
	bool (*is_open)(void *ctx, uint64_t key);
	/* stdio: messages from number `from` on were accepted, but will never be sent: the
	 * process has closed its input, or has exited (see fw_link_accepted()). */
	void (*unsent)(void *ctx, uint64_t from);
	/* The process exited, crashed or closed its output: stdio only. The callee may free
	 * the link. */
	void (*ended)(void *ctx, const struct fw_link_ending *ending);
};

/* Starts the process, or prepares for requests. `fetcher` is for HTTP; NULL: not
 * needed. Raises upstream.start_failed, internal.out_of_memory; internal.unsupported. */
fw_error *fw_link_open(struct fw_loop *loop, struct fw_fetcher *fetcher,
		       const struct fw_link_target *target,
		       const struct fw_link_callbacks *callbacks, void *ctx,
		       struct fw_link **ret_link);
/* Ends the process and its group, or all HTTP requests. May be called from a callback,
 * but if `failed` calls it, the fetcher must not be freed before `failed` has returned.
 * NULL is a no-op. */
void fw_link_free(struct fw_link *link);

/* One message to be sent. Everything is copied or written before the call returns. */
struct fw_link_message {
	const char *text; /* one line of JSON */
	size_t len;
	uint64_t key; /* 0: a notification, or an answer to the server */
	/* For HTTP headers of the modern era; NULL: none. */
	const char *method;
	const char *name;           /* Mcp-Name */
	const char *const *headers; /* more lines, such as Mcp-Param-* */
};

/* Sends the message. Raises transport.broken_pipe and upstream.busy (both not_sent),
 * internal.out_of_memory; after such an error no callback is called for the message. */
fw_error *fw_link_send(struct fw_link *link, const struct fw_link_message *message);
/* stdio: how many messages were accepted, which is the number of the last one. HTTP: 0. */
uint64_t fw_link_accepted(const struct fw_link *link);
/* HTTP: closes the response of a request, which the modern era reads as a cancellation.
 * stdio: does nothing. No callback is called for the request any more. */
void fw_link_abort(struct fw_link *link, uint64_t key);
/* HTTP: opens the GET stream, for messages that belong to no request. A server without
 * one (405) is left alone. stdio: does nothing. */
void fw_link_listen(struct fw_link *link);
/* Call before fw_link_free() to give the program a moment to exit in an orderly way.
 * HTTP: deletes the session, if any. */
void fw_link_end(struct fw_link *link);

/* stdio: the beginning of an unfinished line, if nothing more can be read now. HTTP:
 * empty. After fw_link_drop_partial(), the next byte is the first of a line. */
struct fw_slice fw_link_partial(const struct fw_link *link);
void fw_link_drop_partial(struct fw_link *link);

/* A field of upstream.garbled: the format of the output, which is not lines. */
#define FW_LINK_FRAMING "framing"

/* A field of the error for a response that no MCP server would send: what is at the URL
 * instead. */
#define FW_LINK_ENDPOINT FW_FETCH_ENDPOINT

/* The error for a server that could not be started: upstream.cannot_start if another
 * attempt would fail in the same way, otherwise upstream.start_failed, both not_sent.
 * Consumes `cause`, which may be NULL. `has_succeeded`: a handshake with this server has
 * succeeded before. */
fw_error *fw_link_raise_not_started(const char *name, const char *reason, fw_error *cause,
				    bool has_succeeded);

/* HTTP: the version for MCP-Protocol-Version; NULL: none yet. Borrowed, static. */
void fw_link_set_version(struct fw_link *link, const char *version, bool is_modern);
/* HTTP: forgets the session and ends its GET stream, before a new handshake. */
void fw_link_forget_session(struct fw_link *link);
bool fw_link_is_http(const struct fw_link *link);
/* HTTP: the number of the session among those of this link, from 1 on; 0: there is none. */
uint64_t fw_link_session(const struct fw_link *link);
/* An error for one request that the ending left without an answer: upstream.exited,
 * upstream.crashed or upstream.closed, with the end of standard error as detail for the
 * operator, and the given delivery. Cannot fail. */
fw_error *fw_link_raise_ending(const struct fw_link *link, const struct fw_link_ending *ending,
			       fw_delivery delivery);
/* stdio: the last text of standard error, without secrets; as fw_child_stderr(). */
size_t fw_link_stderr(const struct fw_link *link, char *ret_text, size_t size);

#endif
