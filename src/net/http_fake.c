/*
 * http_fake.c - a fake core for tests of the HTTP transport by itself.
 *
 * It replaces the real core, and does at once what that one may do at the worst
 * moment.
 */
#include "net/http_fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/faultwire.h>

#include "mcp/authority.h"
#include "mcp/replica.h"

/* ---- the core --------------------------------------------------------------- */

void fw_exchange_init(struct fw_exchange *exchange, fw_server *server,
		      const struct fw_exchange_ops *ops, bool is_http)
{
	assert_true(is_http);
	exchange->server = server;
	exchange->ops = ops;
	exchange->is_http = is_http;
}

static void send_text(struct fw_exchange *exchange, const char *json, const char *id,
		      uint32_t retry_ms)
{
	exchange->ops->send(exchange, &(struct fw_event){ .json = json,
							  .len = strlen(json),
							  .id = id,
							  .retry_ms = retry_ms });
}

static void reply_text(struct fw_exchange *exchange, int status, const char *json, size_t len)
{
	exchange->ops->reply(exchange,
			     &(struct fw_reply){ .status = status, .json = json, .len = len });
}

static void later_due(uv_timer_t *timer)
{
	fw_server *server = timer->data;
	struct fw_exchange *exchange = server->held;

	server->held = NULL;
	if (exchange)
		reply_text(exchange, 200, "{\"late\":true}", 13);
}

static void reply_big(struct fw_exchange *exchange, size_t len)
{
	char *text = malloc(len);

	assert_non_null(text);
	memset(text, 'x', len);
	text[0] = text[len - 1] = '"';
	reply_text(exchange, 200, text, len);
	memset(text, 0, len);
	free(text);
}

/* More bytes than a client may leave unread. */
static void flood(struct fw_exchange *exchange)
{
	enum { BYTES = 1024 * 1024 };
	char *text = malloc(BYTES + 1);

	assert_non_null(text);
	memset(text, 'y', BYTES);
	text[BYTES] = 0;
	for (int i = 0; i < 20; i++)
		send_text(exchange, text, NULL, 0);
	free(text);
}

static void note_header(struct fw_exchange *exchange)
{
	fw_server *server = exchange->server;
	const char *value = exchange->ops->header(exchange, "x-TEST", &server->header_count);

	snprintf(server->header, sizeof(server->header), "%s", value ? value : "(none)");
	assert_null(exchange->ops->header(exchange, "X-Absent", NULL));
	snprintf(server->principal, sizeof(server->principal), "%s",
		 fw_principal_name(exchange->principal));
}

void fw_exchange_receive(struct fw_exchange *exchange, const char *text, size_t len)
{
	fw_server *server = exchange->server;
	char word[16] = "";

	server->received++;
	note_header(exchange);
	memcpy(word, text, len < sizeof(word) - 1 ? len : sizeof(word) - 1);
	if (strcmp(word, "later") == 0) {
		server->held = exchange;
		uv_timer_start(&server->later, later_due, 30, 0);
	} else if (strcmp(word, "stream") == 0 || strcmp(word, "open") == 0) {
		send_text(exchange, "", "s_0", 500);
		send_text(exchange, "{\"n\":1}", "s_1", 0);
		server->held = exchange;
		if (*word == 's') /* the test ends the other one itself */
			uv_timer_start(&server->later, later_due, 30, 0);
	} else if (strcmp(word, "burst") == 0) {
		send_text(exchange, "{\"n\":1}", NULL, 0);
		send_text(exchange, "{\"n\":2}", NULL, 0);
		reply_text(exchange, 400, "{\"n\":3}", 7);
	} else if (strcmp(word, "hold") == 0) {
		server->held = exchange;
	} else if (strcmp(word, "flood") == 0) {
		server->held = exchange;
		flood(exchange);
	} else if (strcmp(word, "big") == 0) {
		reply_big(exchange, 6 * 1024 * 1024);
	} else if (strcmp(word, "close") == 0) {
		exchange->ops->close(exchange);
	} else if (strcmp(word, "session") == 0) {
		exchange->ops->reply(exchange,
				     &(struct fw_reply){ .status = 202, .session_id = "abc" });
	} else {
		reply_text(exchange, 200, text, len);
	}
}

void fw_exchange_open_stream(struct fw_exchange *exchange)
{
	exchange->server->received++;
	exchange->server->held = exchange;
	send_text(exchange, "", NULL, 0);
}

void fw_exchange_end_session(struct fw_exchange *exchange)
{
	exchange->server->received++;
	reply_text(exchange, 200, NULL, 0);
}

bool fw_exchange_looks_up(struct fw_exchange *exchange,
			  void (*resume)(struct fw_exchange *exchange))
{
	(void)exchange;
	(void)resume;
	return false;
}

void fw_exchange_refuse(struct fw_exchange *exchange, fw_error *err)
{
	int status = fw_error_status(err);
	char text[256];

	snprintf(text, sizeof(text), "[%s: %s]", fw_error_name(err), fw_error_message(err));
	fw_error_free(err);
	exchange->ops->reply(exchange, &(struct fw_reply){ .status = status,
							   .json = text,
							   .len = strlen(text),
							   .challenge = status == 401,
							   .retry_after_s = status == 503 });
}

void fw_exchange_gone(struct fw_exchange *exchange)
{
	fw_server *server = exchange->server;

	server->gone++;
	if (server->held == exchange)
		server->held = NULL;
}

void fw_transport_attach(struct fw_transport *transport, fw_server *server)
{
	transport->server = server;
	server->transport = transport;
}

void fw_transport_closed(struct fw_transport *transport)
{
	assert_false(transport->server->is_closed);
	transport->server->is_closed = true;
}

uv_loop_t *fw_server__loop(fw_server *server)
{
	return &server->loop;
}

struct fw_authority *fw_server__authority(const fw_server *server)
{
	(void)server;
	return NULL;
}

const struct fw_limits *fw_server__limits(const fw_server *server)
{
	return &server->limits;
}

void fw_server__page_terms(const fw_server *server, const char *method, const char *path,
			   struct fw_page_terms *ret_terms)
{
	bool is_posted = strcmp(path, "/posted") == 0;

	(void)server;
	*ret_terms = (struct fw_page_terms){ .access = FW_PAGE_NONE, .allow = "GET, HEAD" };
	if (strcmp(path, "/healthz") == 0 || strcmp(path, "/held") == 0)
		ret_terms->access = FW_PAGE_UNCHECKED;
	else if (strcmp(path, "/open") == 0 || strcmp(path, "/events") == 0 || is_posted)
		ret_terms->access = FW_PAGE_OPEN;
	else if (strcmp(path, "/page") == 0)
		ret_terms->access = FW_PAGE_GUARDED;
	if (is_posted)
		snprintf(ret_terms->allow, sizeof(ret_terms->allow), "POST, DELETE");
	ret_terms->takes_method =
		is_posted ? strcmp(method, "POST") == 0 || strcmp(method, "DELETE") == 0
			  : strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
	ret_terms->body_bytes = is_posted ? 100 : 0;
}

/* Answers with the path, a parameter and a header; "/held" waits for the test, "/events"
 * is a stream that stays open, "/posted" repeats its method and body. */
void fw_exchange_open_page(struct fw_exchange *exchange, const struct fw_page_request *request)
{
	const char *query = exchange->ops->query(exchange, "q");
	const char *accept = exchange->ops->header(exchange, "Accept", NULL);
	struct fw_reply reply = { .status = 200, .type = "text/x-page" };
	char text[256];

	assert_true(exchange->is_page);
	if (strcmp(request->path, "/held") == 0) {
		exchange->server->held = exchange;
		return;
	}
	if (strcmp(request->path, "/events") == 0) {
		exchange->ops->send(
			exchange, &(struct fw_event){ .json = "1", .len = 1, .name = "tick" });
		exchange->server->held = exchange;
		return;
	}
	if (strcmp(request->path, "/posted") == 0) {
		snprintf(text, sizeof(text), "%s %.*s|\n", request->method, (int)request->len,
			 request->body);
		reply.status = 201;
		reply.headers = "X-More: yes\r\n";
	} else {
		snprintf(text, sizeof(text), "%s q=%s accept=%s\n", request->path,
			 query ? query : "-", accept ? accept : "-");
	}
	reply.json = text;
	reply.len = strlen(text);
	exchange->ops->reply(exchange, &reply);
}

const char *fw_exchange_page_headers(const struct fw_exchange *exchange)
{
	(void)exchange;
	return "X-Stream: yes\r\n";
}

/* ---- the server ------------------------------------------------------------- */

void fake_init(fw_server *server)
{
	memset(server, 0, sizeof(*server));
	server->limits = (struct fw_limits)FW_LIMITS_INIT;
	assert_int_equal(uv_loop_init(&server->loop), 0);
	uv_timer_init(&server->loop, &server->later);
	server->later.data = server;
}

void fake_listen(fw_server *server, const fw_http_options *options)
{
	assert_null(fw_server_listen_http(server, options));
	assert_null(server->transport->ops->start(server->transport));
}

struct fw_http *fake_http(fw_server *server)
{
	return (struct fw_http *)server->transport;
}

void fake_stop(fw_server *server)
{
	server->transport->ops->quiesce(server->transport);
	server->transport->ops->close(server->transport);
	for (int i = 0; i < 3000 && !server->is_closed; i++)
		fake_spin(server, 1);
	assert_true(server->is_closed);
}

void fake_clear(fw_server *server)
{
	if (server->transport) {
		if (fake_http(server)->is_started && !server->is_closed)
			fake_stop(server);
		server->transport->ops->free(server->transport);
	}
	uv_close((uv_handle_t *)&server->later, NULL);
	uv_run(&server->loop, UV_RUN_DEFAULT);
	assert_int_equal(uv_loop_close(&server->loop), 0);
	assert_int_equal(fw_error_live(), 0);
}

void fake_spin(fw_server *server, unsigned ms)
{
	uint64_t end;

	uv_update_time(&server->loop);
	end = uv_now(&server->loop) + ms;
	do {
		uv_run(&server->loop, UV_RUN_NOWAIT);
		poll(NULL, 0, 1);
		uv_update_time(&server->loop);
	} while (uv_now(&server->loop) < end);
}

void fake_await(fw_server *server, const unsigned *count, unsigned wanted)
{
	for (int i = 0; i < 2000 && *count < wanted; i++)
		fake_spin(server, 1);
	assert_int_equal(*count, wanted);
}

/* ---- the client ------------------------------------------------------------- */

/* Valgrind checks the whole buffer of a read, so reads are small. */
enum { CLIENT_BYTES = 32 * 1024 * 1024, CLIENT_READ = 1024 * 1024, CLIENT_PATIENCE_MS = 5000 };

void client_open(struct fake_client *client, fw_server *server)
{
	client_open_from(client, server, 1);
}

void client_open_from(struct fake_client *client, fw_server *server, unsigned char last)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	struct sockaddr_in from = { .sin_family = AF_INET };
	const char *colon = strrchr(fake_http(server)->url, ':');

	address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	memset(client, 0, sizeof(*client));
	client->server = server;
	client->text = malloc(CLIENT_BYTES + 1);
	assert_non_null(client->text);
	client->text[0] = 0;
	client->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK - 1 + last);
	if (last != 1)
		assert_int_equal(bind(client->fd, (void *)&from, sizeof(from)), 0);
	assert_int_equal(connect(client->fd, (void *)&address, sizeof(address)), 0);
}

void client_close(struct fake_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
	free(client->text);
	client->text = NULL;
}

static void client_read(struct fake_client *client)
{
	size_t room = CLIENT_BYTES - client->len;
	ssize_t len = recv(client->fd, client->text + client->len,
			   room < CLIENT_READ ? room : CLIENT_READ, MSG_DONTWAIT);

	if (len == 0 || (len < 0 && errno != EAGAIN))
		client->is_ended = true;
	if (len <= 0)
		return;
	client->len += (size_t)len;
	client->text[client->len] = 0;
}

void client_send(struct fake_client *client, const char *bytes, size_t len)
{
	for (int i = 0; len && i < CLIENT_PATIENCE_MS; i++) {
		ssize_t sent = send(client->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);

		if (sent > 0) {
			bytes += sent;
			len -= (size_t)sent;
			i = 0;
			uv_run(&client->server->loop, UV_RUN_NOWAIT);
		} else if (errno == EAGAIN) {
			fake_spin(client->server, 1);
		} else {
			return; /* cut off: the answer is in the buffer */
		}
	}
}

void client_post(struct fake_client *client, const char *extra, const char *body)
{
	char head[1024];
	int len = snprintf(
		head, sizeof(head),
		"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:1\r\nContent-Type: application/json\r\n"
		"Accept: application/json, text/event-stream\r\n%sContent-Length: %zu\r\n\r\n",
		extra ? extra : "", strlen(body));

	client_send(client, head, (size_t)len);
	client_send(client, body, strlen(body));
}

void client_expect(struct fake_client *client, const char *needle)
{
	uint64_t end = uv_hrtime() / 1000000 + CLIENT_PATIENCE_MS;
	char *found;

	while (!(found = memmem(client->text, client->len, needle, strlen(needle)))) {
		if (client->is_ended || uv_hrtime() / 1000000 > end)
			fail_msg("no \"%s\" (%s) in: %.400s", needle,
				 client->is_ended ? "connection ended" : "too late",
				 client->text);
		fake_spin(client->server, 1);
		client_read(client);
	}
	found += strlen(needle);
	client->len -= (size_t)(found - client->text);
	memmove(client->text, found, client->len + 1);
}

void client_expect_end(struct fake_client *client)
{
	uint64_t end = uv_hrtime() / 1000000 + CLIENT_PATIENCE_MS;

	while (!client->is_ended) {
		if (uv_hrtime() / 1000000 > end)
			fail_msg("the connection stays open: %.400s", client->text);
		fake_spin(client->server, 1);
		client_read(client);
	}
}
