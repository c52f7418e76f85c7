/*
 * conversation_transport.h - how the clients of fuzz_conversation.c reach the server:
 * HTTP requests and wires at the border of the core, stdio through a socket.
 *
 * The one rule to remember: a transport is asked to close when nothing is open.
 */
#ifndef FW_CONVERSATION_TRANSPORT_H
#define FW_CONVERSATION_TRANSPORT_H

#include "conversation_message.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

enum { STDIO = CLIENTS - 1, LINE_BYTES = 1 << 16 };

static struct step header; /* the first step of the input */

/* ---- the transports ------------------------------------------------------------------------ */

/* Stands for HTTP and the wires: what a stop asks of a transport. */
static struct fw_transport transport;
static bool is_closing;
static int stdio_ours = -1, stdio_in = -1, stdio_out = -1;
static bool is_stdio_ended; /* our end of it */
static bool is_half_closed;
static struct {
	char text[LINE_BYTES];
	size_t len;
	bool is_long; /* the rest of a line that did not fit is skipped */
} line;

/* What the socket did not take is sent with the next turns. */
static struct {
	char text[MESSAGE_BYTES + LINE_BYTES];
	size_t len, sent;
	size_t line;  /* where the line that has no end yet begins */
	bool is_over; /* and it is too long already: the server need not wait for its end */
} unsent;

static fw_error *on_start(struct fw_transport *self)
{
	(void)self;
	return NULL;
}

static void on_quiesce(struct fw_transport *self)
{
	(void)self;
}

static void on_close_transport(struct fw_transport *self)
{
	is_closing = true;
	/* "All is answered." */
	if (!is_memory_only)
		MUST(peer_count == 0 || had_no_memory);
	while (peer_count)
		reset_peer(peers[0]);
	for (size_t i = 0; i < CLIENTS; i++)
		reset_wire(i);
	fw_transport_closed(self);
}

static void on_free_transport(struct fw_transport *self)
{
	(void)self;
}

static void open_transports(void)
{
	static const struct fw_transport_ops ops = { .start = on_start,
						     .quiesce = on_quiesce,
						     .close = on_close_transport,
						     .free = on_free_transport };
	int ends[2];

	transport = (struct fw_transport){ .ops = &ops };
	is_closing = false;
	fw_transport_attach(&transport, server);
	if (!(header.c & 1))
		return;
	MUST(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
	stdio_ours = ends[0];
	stdio_in = ends[1];
	stdio_out = header.c & 2 ? ends[1] : fcntl(ends[1], F_DUPFD_CLOEXEC, 0);
	MUST(!fw_server_listen_fds(server, stdio_in, stdio_out));
	clients[STDIO].kind = KIND_STDIO;
	wires[STDIO] = peer_new(&clients[STDIO], WHAT_POST, false);
	wires[STDIO]->is_stdio = true;
	line.len = 0;
	line.is_long = false;
	is_stdio_ended = false;
	is_half_closed = false;
	unsent.len = unsent.sent = unsent.line = 0;
	unsent.is_over = false;
}

static void close_stdio(void)
{
	if (stdio_ours < 0)
		return;
	if (!is_stdio_ended)
		(void)close(stdio_ours);
	(void)close(stdio_in);
	if (stdio_out != stdio_in)
		(void)close(stdio_out);
	stdio_ours = stdio_in = stdio_out = -1;
	forget_peer(wires[STDIO]);
	wires[STDIO] = NULL;
}

static void take_stdio_lines(void)
{
	char *at = line.text;
	char *newline;

	while ((newline = memchr(at, '\n', line.len - (size_t)(at - line.text)))) {
		TELL("    line   %.*s\n", (int)(newline - at < 160 ? newline - at : 160), at);
		if (!line.is_long)
			check_text(wires[STDIO], at, (size_t)(newline - at));
		line.is_long = false;
		at = newline + 1;
	}
	line.len -= (size_t)(at - line.text);
	memmove(line.text, at, line.len);
	if (line.len == LINE_BYTES) {
		/* A long answer, whose id is not looked for. */
		line.len = 0;
		line.is_long = true;
		excuse(wires[STDIO], NULL);
	}
}

/* False: the server has written nothing since the last time. */
static bool read_stdio(void)
{
	bool has_read = false;
	ssize_t n;

	while (stdio_ours >= 0 && !is_stdio_ended &&
	       (n = recv(stdio_ours, line.text + line.len, LINE_BYTES - line.len,
			 MSG_DONTWAIT)) > 0) {
		line.len += (size_t)n;
		take_stdio_lines();
		has_read = true;
	}
	return has_read;
}

static void write_stdio(void)
{
	while (!is_stdio_ended && unsent.sent < unsent.len) {
		ssize_t n = send(stdio_ours, unsent.text + unsent.sent,
				 unsent.len - unsent.sent, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (n < 0 && errno == EAGAIN)
			return;
		/* The server has closed it. */
		if (n < 0) {
			excuse(wires[STDIO], NULL);
			unsent.sent = unsent.len;
		} else {
			unsent.sent += (size_t)n;
		}
	}
	memmove(unsent.text, unsent.text + unsent.line, unsent.len - unsent.line);
	unsent.len -= unsent.line;
	unsent.sent = unsent.len;
	unsent.line = 0;
}

/* Is there input that has not reached the server? Without memory it may never. */
static bool has_unread_input(void)
{
	int bytes = 0;

	if (stdio_ours < 0 || is_stdio_ended || had_no_memory)
		return false;
	MUST(ioctl(stdio_ours, SIOCOUTQ, &bytes) == 0);
	return bytes > 0 || unsent.sent < unsent.len;
}

static bool is_blank(const char *text, size_t len)
{
	while (len && strchr(" \t", *text) && *text) {
		text++;
		len--;
	}
	return len == 0;
}

static void end_line(size_t end)
{
	const char *text = unsent.text + unsent.line;
	size_t len = end - unsent.line;

	if (unsent.is_over) {
		unsent.is_over = false;
		return;
	}
	if (len && text[len - 1] == '\r')
		len--;
	if (!is_blank(text, len))
		expect_text(wires[STDIO], text, len);
}

/* Sends bytes, and expects what whole lines among them let expect. */
static void send_stdio(const char *bytes, size_t len)
{
	if (stdio_ours < 0 || is_stdio_ended || is_half_closed ||
	    len > sizeof unsent.text - unsent.len ||
	    wires[STDIO]->pending_count + 4 * server->limits.batch_messages >= PENDING_MAX)
		return;
	memcpy(unsent.text + unsent.len, bytes, len);
	for (size_t i = 0; i < len; i++) {
		unsent.len++;
		if (bytes[i] == '\n') {
			end_line(unsent.len - 1);
			unsent.line = unsent.len;
		} else if (!unsent.is_over &&
			   unsent.len - unsent.line > server->limits.message_bytes + 1) {
			unsent.is_over = true;
			wires[STDIO]->strays++;
		}
	}
	write_stdio();
}

/* ---- saying something ------------------------------------------------------------------------ */

static void say_on_wire(struct client *client, struct peer *wire)
{
	char *copy;

	if (client->kind == KIND_STDIO) {
		put("\n");
		send_stdio(message, message_len);
		return;
	}
	if (wire->pending_count + server->limits.batch_messages >= PENDING_MAX)
		return;
	expect_text(wire, message, message_len);
	/* In memory of exactly its size. */
	copy = malloc(message_len ? message_len : 1);
	MUST(copy);
	memcpy(copy, message, message_len);
	fw_exchange_receive(&wire->exchange, copy, message_len);
	free(copy);
}

/* `who`: 2 bits the client, 2 bits whose session, 4 bits which headers. */
static struct peer *request_new(const struct step *step, enum what what)
{
	struct client *client = &clients[step->who % CLIENTS];
	const struct client *owner = &clients[(step->who + (step->who >> 2 & 3)) % CLIENTS];
	struct peer *peer;

	if (peer_count == PEERS_MAX || is_closing)
		return NULL;
	peer = peer_new(client, what, true);
	peer->is_current = true;
	if (owner->session_id[0] && !(step->who & 16)) {
		add_header(peer, "Mcp-Session-Id", owner->session_id);
		(void)snprintf(peer->session_id, sizeof peer->session_id, "%s",
			       owner->session_id);
	}
	if (client->version == FW_V_2026_07_28 || step->who & 32)
		add_header(peer, "MCP-Protocol-Version", fw_version_names[client->version]);
	if (step->who & 64)
		fw_error_free(fw_principal_new(FW_PROOF_TOKEN, peer->address, NULL, 0,
					       &peer->exchange.principal));
	return peer;
}

static void say_by_http(const struct step *step)
{
	struct client *client = &clients[step->who % CLIENTS];
	struct step plain = *step;
	struct peer *peer;
	char *copy;

	/* A session begins outside of one. */
	if (step->op % OP_COUNT == OP_REQUEST && strcmp(method_of(step), "initialize") == 0)
		plain.who |= 16;
	peer = request_new(&plain, WHAT_POST);
	if (!peer)
		return;
	if (client->version == FW_V_2026_07_28 && step->op % OP_COUNT == OP_REQUEST) {
		add_header(peer, "Mcp-Method", method_of(step));
		add_header(peer, "Mcp-Name", name_of(step));
	}
	copy = malloc(message_len ? message_len : 1);
	MUST(copy);
	memcpy(copy, message, message_len);
	expect_text(peer, copy, message_len);
	fw_exchange_receive(&peer->exchange, copy, message_len);
	free(copy);
	request_over(peer);
}

static void say(const struct step *step)
{
	struct client *client = &clients[step->who % CLIENTS];
	struct peer *wire = wires[step->who % CLIENTS];

	TELL("    says   %.*s\n", (int)(message_len < 300 ? message_len : 300), message);
	if (client->kind == KIND_HTTP)
		say_by_http(step);
	else if (wire)
		say_on_wire(client, wire);
}

#endif
