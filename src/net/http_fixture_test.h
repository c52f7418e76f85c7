/*
 * http_fixture_test.h - what the tests of the HTTP transport begin and end with: a fake
 * core behind a real socket, and one client.
 */
#ifndef FW_NET_HTTP_FIXTURE_TEST_H
#define FW_NET_HTTP_FIXTURE_TEST_H

#include <string.h>

#include "net/http_fake.h"

static fw_server server;
static struct fake_client client;

static inline int begin(void **state)
{
	(void)state;
	fake_init(&server);
	return 0;
}

/* Most tests: a server with no options and one client. */
static inline int begin_listening(void **state)
{
	begin(state);
	fake_listen(&server, NULL);
	client_open(&client, &server);
	return 0;
}

static inline int end(void **state)
{
	(void)state;
	client_close(&client);
	fake_clear(&server);
	return 0;
}

static inline void say(const char *bytes)
{
	client_send(&client, bytes, strlen(bytes));
}

static inline void expect(const char *needle)
{
	client_expect(&client, needle);
}

#endif
