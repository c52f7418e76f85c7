/*
 * http_conn.h - one connection. http.h draws its states.
 *
 * The memory of a connection is freed in the callback of uv_close(), so is_closed
 * may be read after any call.
 */
#ifndef FW_NET_HTTP_CONN_H
#define FW_NET_HTTP_CONN_H

#include <stdbool.h>
#include <sys/socket.h>

#include <uv.h>

#include "net/http.h"
#include "net/http_body.h"
#include "net/http_io.h"
#include "net/http_reply.h"
#include "net/http_request.h"

struct ssl_st;

enum fw_http_state {
	FW_HTTP_IDLE,
	FW_HTTP_HEAD,
	FW_HTTP_BODY,
	FW_HTTP_ANSWERING,
	FW_HTTP_CLOSING,
};

struct fw_http_socket {
	uv_poll_t poll;
	struct ssl_st *ssl; /* NULL: plain */
	int fd;
	int armed;        /* the uv_poll events that are polled for */
	bool has_fin;     /* nothing more will be read */
	bool has_hung_up; /* the peer has closed its side; bytes may be left to read */
};

struct fw_http_conn {
	struct fw_exchange exchange; /* first: the core hands it back */
	struct fw_http *http;
	struct fw_http_conn *next;
	struct fw_http_conn *previous;
	struct fw_http_conn *next_ready;
	struct fw_http_address *address;
	char address_text[46];
	enum fw_http_slot slot;
	enum fw_http_state state;
	bool has_asked;    /* at least one complete request head came */
	bool is_closed;    /* only the handle is left */
	bool is_ready;     /* in the ready list */
	bool is_advancing; /* fw_http__advance() is running */
	struct fw_http_socket socket;
	struct fw_http_times times;
	struct fw_http_input in;
	struct fw_http_output out;
	llhttp_t parser;

	/* Of the current request. */
	struct fw_http_answer answer;
	struct fw_http_body body;
	struct fw_http_head head; /* last: its fields are never zeroed */
};

/* The bytes of a span; NUL-terminated once the head is complete. */
static inline const char *fw_http__at(const struct fw_http_conn *conn, struct fw_http_span span)
{
	return conn->in.data + span.at;
}

/* A new connection, in IDLE. NULL: no memory; the descriptor is closed. */
struct fw_http_conn *fw_http__open(struct fw_http *http, int fd,
				   const struct sockaddr *address);
void fw_http__enter(struct fw_http_conn *conn, enum fw_http_state state);
/* Does everything that is possible now. The connection may be closed afterwards. */
void fw_http__advance(struct fw_http_conn *conn);
/* Calls advance() soon, outside the core. */
void fw_http__queue(struct fw_http_conn *conn);
/* A uv_idle_cb: advances the connections that are queued. */
void fw_http__run_ready(uv_idle_t *handle);
/* Ends the request, if there is one, without an answer, and closes. */
void fw_http__abort(struct fw_http_conn *conn);

#endif
