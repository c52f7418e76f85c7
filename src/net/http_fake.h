/*
 * http_fake.h - a fake core, controlled by the body of a request, and a client that
 * sends bytes: for tests of the HTTP transport by itself.
 *
 * The one rule to remember: client and server share one thread. The loop runs
 * only while the client waits.
 */
#ifndef FW_NET_HTTP_FAKE_H
#define FW_NET_HTTP_FAKE_H

#include <stdbool.h>
#include <stddef.h>

#include <uv.h>

#include "net/http.h"

struct fw_server {
	uv_loop_t loop;
	struct fw_limits limits;
	struct fw_transport *transport;
	struct fw_exchange *held; /* open until the test answers it */
	uv_timer_t later;
	bool is_closed;
	unsigned received;
	unsigned gone;
	char header[256]; /* the last X-Test, and how often it was there */
	unsigned header_count;
	char principal[32];
};

void fake_init(fw_server *server);
/* Stops the transport if there is one, and checks that nothing is left. */
void fake_clear(fw_server *server);
/* Listens on a loopback port with these options (NULL: none) and starts. */
void fake_listen(fw_server *server, const fw_http_options *options);
struct fw_http *fake_http(fw_server *server);
/* Quiesces and closes the transport, and waits until it is closed. */
void fake_stop(fw_server *server);
/* Runs the loop for this long. */
void fake_spin(fw_server *server, unsigned ms);
/* Waits until `*count` is `wanted`; fails after two seconds. */
void fake_await(fw_server *server, const unsigned *count, unsigned wanted);

/* A client. `text` is what it has received, NUL-terminated. */
struct fake_client {
	fw_server *server;
	int fd;
	bool is_ended;
	char *text;
	size_t len;
};

void client_open(struct fake_client *client, fw_server *server);
/* From 127.0.0.`last`. */
void client_open_from(struct fake_client *client, fw_server *server, unsigned char last);
void client_close(struct fake_client *client);
void client_send(struct fake_client *client, const char *bytes, size_t len);
/* A POST of the endpoint with the usual headers, and `extra` ("X: y\r\n"). */
void client_post(struct fake_client *client, const char *extra, const char *body);
/* Waits for `needle` and drops everything up to its end; fails after five seconds. */
void client_expect(struct fake_client *client, const char *needle);
/* Waits until the server closes the connection. */
void client_expect_end(struct fake_client *client);

#endif
