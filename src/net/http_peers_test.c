/*
 * http_peers_test.c - the HTTP transport by itself, with peers that disconnect, are
 * slow, or are too many.
 */
#include "net/http_fake.h"

#include <errno.h>
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

#include "net/http_fixture_test.h"
#include "test/memory.h"

/* ---- clients that go away --------------------------------------------------- */

static void await_no_peer(void)
{
	for (int i = 0; i < 1000 && fake_http(&server)->peer_count; i++)
		fake_spin(&server, 5);
	assert_int_equal(fake_http(&server)->peer_count, 0);
}

static void test_http_peers__notices_a_client_that_disconnects_while_it_waits(void **state)
{
	(void)state;
	client_post(&client, NULL, "hold");
	fake_await(&server, &server.received, 1);
	close(client.fd);
	client.fd = -1;
	fake_await(&server, &server.gone, 1);
	assert_null(server.held);
	await_no_peer();
}

static void test_http_peers__notices_a_client_that_disconnects_from_an_open_stream(void **state)
{
	(void)state;
	say("GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n");
	expect("text/event-stream\r\n");
	close(client.fd);
	client.fd = -1;
	fake_await(&server, &server.gone, 1);
}

static void reply_held(const char *json)
{
	struct fw_exchange *exchange = server.held;

	server.held = NULL;
	assert_non_null(exchange);
	exchange->ops->reply(
		exchange,
		&(struct fw_reply){ .status = 200, .json = json, .len = strlen(json) });
}

static void test_http_peers__a_half_closed_request_gets_its_answer(void **state)
{
	(void)state;
	client_post(&client, NULL, "hold");
	shutdown(client.fd, SHUT_WR);
	fake_await(&server, &server.received, 1);
	fake_spin(&server, 50);
	reply_held("{\"half\":1}");
	expect("HTTP/1.1 200 OK\r\n");
	expect("\r\n\r\n{\"half\":1}");
	client_expect_end(&client);
	assert_int_equal(server.gone, 0);
}

static void test_http_peers__a_half_closed_request_gets_a_slow_answer_as_a_stream(void **state)
{
	(void)state;
	fake_http(&server)->pace.sweep_ms = 10;
	client_post(&client, NULL, "hold");
	shutdown(client.fd, SHUT_WR);
	expect("text/event-stream\r\n");
	expect(": keepalive\n\n");
	fake_spin(&server, 50);
	assert_int_equal(server.gone, 0);
	reply_held("{\"half\":1}");
	expect("event: message\ndata: {\"half\":1}\n\n");
	client_expect_end(&client);
}

static void test_http_peers__half_closed_pipelined_requests_get_all_their_answers(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++)
		client_post(&client, NULL, i == 1 ? "later" : "{\"a\":1}");
	shutdown(client.fd, SHUT_WR);
	expect("{\"a\":1}");
	expect("{\"late\":true}");
	expect("{\"a\":1}");
	client_expect_end(&client);
	assert_int_equal(server.gone, 0);
}

static void test_http_peers__a_half_closed_refusal_is_sent(void **state)
{
	(void)state;
	say("POST /other HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nabc");
	shutdown(client.fd, SHUT_WR);
	expect("HTTP/1.1 404 ");
	client_expect_end(&client);
}

static void test_http_peers__cuts_off_a_client_that_does_not_read(void **state)
{
	(void)state;
	client_post(&client, NULL, "flood");
	fake_await(&server, &server.gone, 1);
	assert_null(server.held);
}

static void test_http_peers__drops_a_client_that_disconnects_during_its_request(void **state)
{
	(void)state;
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	    "Content-Length: 100\r\n\r\nabc");
	fake_spin(&server, 10);
	close(client.fd);
	client.fd = -1;
	await_no_peer();
	assert_int_equal(server.received, 0);
	assert_int_equal(server.gone, 0);
}

/* The last bytes and the FIN arrive together: one event reports both. */
static void test_http_peers__drops_clients_that_send_and_disconnect_at_once(void **state)
{
	static const char *const WORDS[] = { "POST /mcp HT",
					     "GET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n",
					     "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
					     "Content-Type: application/json\r\n"
					     "Content-Length: 9\r\n\r\nhold" };
	struct linger reset = { 1, 0 };

	(void)state;
	fake_http(&server)->pace.sweep_ms = 5;
	fake_spin(&server, 5);
	for (int i = 0; i < 60; i++) {
		struct fake_client other;

		client_open(&other, &server);
		send(other.fd, WORDS[i % 3], strlen(WORDS[i % 3]), MSG_NOSIGNAL);
		if (i % 7 == 0)
			fake_spin(&server, 1);
		if (i % 2)
			setsockopt(other.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset));
		client_close(&other);
	}
	for (int i = 0; i < 1000 && fake_http(&server)->peer_count > 1; i++)
		fake_spin(&server, 1);
	assert_int_equal(fake_http(&server)->peer_count, 1);
	assert_null(server.held);
}

/* ---- slowness --------------------------------------------------------------- */

static void quicken(void)
{
	struct fw_http_pace *pace = &fake_http(&server)->pace;

	pace->idle_ms = pace->head_ms = pace->body_ms = 40;
	pace->linger_ms = 20;
	pace->linger_silent_ms = 20;
	pace->sweep_ms = 5;
}

static void dribble(void)
{
	for (int i = 0; i < 200 && !client.is_ended; i++) {
		char byte;

		fake_spin(&server, 3);
		if (send(client.fd, "a", 1, MSG_NOSIGNAL) < 0 ||
		    recv(client.fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0)
			return;
	}
	fail_msg("the connection was not cut off");
}

/* Sends a byte every few milliseconds; returns how long the server reads them. */
static unsigned send_while_read(unsigned limit_ms)
{
	unsigned ms = 0;

	for (; ms < limit_ms && fake_http(&server)->peer_count; ms += 5) {
		(void)send(client.fd, "a", 1, MSG_NOSIGNAL);
		fake_spin(&server, 5);
	}
	return ms;
}

static void test_http_peers__a_client_that_still_sends_is_not_reset_after_a_second(void **state)
{
	struct fw_http_pace *pace = &fake_http(&server)->pace;

	(void)state;
	assert_true(pace->linger_silent_ms > 1000 && pace->linger_ms > pace->linger_silent_ms);
	pace->sweep_ms = 5;
	say("not HTTP\r\n\r\n");
	expect("HTTP/1.1 400 ");
	assert_int_equal(send_while_read(300), 300);
	/* There is a limit, whatever it sends. */
	pace->linger_ms = 300;
	assert_true(send_while_read(2000) < 2000);
}

static void test_http_peers__a_closing_connection_without_a_byte_is_closed(void **state)
{
	struct fw_http_pace *pace = &fake_http(&server)->pace;

	(void)state;
	pace->linger_silent_ms = 50;
	pace->sweep_ms = 5;
	say("not HTTP\r\n\r\n");
	expect("HTTP/1.1 400 ");
	await_no_peer();
}

static void test_http_peers__cuts_off_slow_first_lines(void **state)
{
	(void)state;
	quicken();
	dribble();
}

static void test_http_peers__cuts_off_slow_headers(void **state)
{
	(void)state;
	quicken();
	say("POST /mcp HTTP/1.1\r\nX-Long: ");
	dribble();
}

static void test_http_peers__cuts_off_slow_bodies(void **state)
{
	(void)state;
	quicken();
	say("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
	    "Content-Length: 10000\r\n\r\n");
	dribble();
	assert_int_equal(server.received, 0);
}

static void test_http_peers__closes_idle_connections(void **state)
{
	(void)state;
	quicken();
	client_post(&client, NULL, "{}");
	expect("\r\n\r\n{}");
	client_expect_end(&client);
}

static void test_http_peers__does_not_close_a_stream_for_being_quiet(void **state)
{
	(void)state;
	quicken();
	client_post(&client, NULL, "open");
	expect("{\"n\":1}");
	fake_spin(&server, 120);
	assert_int_equal(server.gone, 0);
	server.held->ops->close(server.held);
	expect("\r\n0\r\n\r\n");
}

/* ---- too many ---------------------------------------------------------------- */

static const char HALF[] = "POST /mcp HTTP/1.1\r\nHost: loc";

/* A client with a local address of its own: 127.0.0.`last`. */
static void open_from(struct fake_client *other, unsigned char last)
{
	client_open_from(other, &server, last);
	client_send(other, HALF, sizeof(HALF) - 1);
	fake_spin(&server, 5);
}

static void listen_with(uint64_t connections, uint64_t spare_ms)
{
	server.limits.http_connections = connections;
	server.limits.http_spare_ms = spare_ms;
	fake_listen(&server, NULL);
}

static void test_http_peers__a_connection_of_the_busiest_address_is_evicted(void **state)
{
	struct fake_client first, many[3];

	begin(state);
	listen_with(4, 0);
	open_from(&first, 2);
	for (int i = 0; i < 3; i++)
		open_from(&many[i], 3);
	client_open(&client, &server);
	client_post(&client, NULL, "hold");
	fake_await(&server, &server.received, 1);
	/* The oldest connection of that address, not the oldest of all. */
	client_expect(&many[0], "HTTP/1.1 503 ");
	client_expect(&many[0], "server.overloaded");
	client_expect_end(&many[0]);
	fake_spin(&server, 20);
	client_send(&first, "alhost\r\n\r\n", 11);
	client_expect(&first, "HTTP/1.1 ");
	client_close(&first);
	for (int i = 0; i < 3; i++)
		client_close(&many[i]);
	end(state);
}

static void test_http_peers__a_new_connection_is_not_evicted(void **state)
{
	struct fake_client slow[2];

	begin(state);
	listen_with(2, 60000);
	for (int i = 0; i < 2; i++)
		open_from(&slow[i], 2);
	client_open(&client, &server);
	client_post(&client, NULL, "{}");
	expect("HTTP/1.1 503 ");
	expect("Retry-After: 1\r\n");
	expect("server.overloaded");
	client_expect_end(&client);
	for (int i = 0; i < 2; i++) {
		client_send(&slow[i], "alhost\r\n\r\n", 11);
		client_expect(&slow[i], "HTTP/1.1 415 ");
		client_close(&slow[i]);
	}
	end(state);
}

static void test_http_peers__a_request_that_is_answered_is_not_evicted(void **state)
{
	struct fake_client busy;

	begin(state);
	server.limits.http_connections = 1;
	server.limits.http_spare_ms = 0;
	fake_listen(&server, NULL);
	client_open(&busy, &server);
	client_post(&busy, NULL, "hold");
	fake_await(&server, &server.received, 1);
	client_open(&client, &server);
	client_post(&client, NULL, "{}");
	expect("HTTP/1.1 503 ");
	reply_held("{\"kept\":1}");
	client_expect(&busy, "{\"kept\":1}");
	client_close(&busy);
	end(state);
}

static void test_http_peers__unread_bodies_are_limited_in_all(void **state)
{
	static const char head[] = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
				   "application/json\r\nContent-Length: 700000\r\n\r\n";
	char *part = calloc(1, 700001);
	struct fake_client other;

	begin(state);
	assert_non_null(part);
	memset(part, ' ', 700000);
	server.limits.http_unread_bytes = 1024 * 1024;
	fake_listen(&server, NULL);
	client_open(&client, &server);
	client_open(&other, &server);
	say(head);
	client_send(&client, part, 600000);
	for (int i = 0; i < 500 && fake_http(&server)->body_bytes < 600000; i++)
		fake_spin(&server, 10);
	assert_true(fake_http(&server)->body_bytes >= 600000);
	client_send(&other, head, sizeof(head) - 1);
	client_send(&other, part, 600000);
	expect("HTTP/1.1 503 ");
	expect("Retry-After: 1\r\n");
	client_expect_end(&client);
	client_send(&other, part, 100000);
	client_expect(&other, "HTTP/1.1 200 ");
	assert_int_equal(fake_http(&server)->body_bytes, 0);
	free(part);
	client_close(&other);
	end(state);
}

/* ---- no memory ----------------------------------------------------------------- */

#define POST "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

static void exchange_in_pieces(const char *const *pieces)
{
	client_open(&client, &server);
	for (; *pieces; pieces++) {
		say(*pieces);
		fake_spin(&server, 2);
	}
	fake_spin(&server, 5);
	if (server.held)
		reply_held("{}");
	fake_spin(&server, 2);
	client_close(&client);
	fake_spin(&server, 2);
}

static void serve_without_memory(void)
{
	static const char *const HEADS[] = { "GET /open?q=a%20b", "&c=d HTTP/1.1\r\nHo",
					     "st: localhost\r\n\r\n", NULL };
	static const char *const CHUNKS[] = { POST "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
					      "cde\r\n0\r\n\r\n" POST, "\r\n", NULL };
	static const char *const HOLD[] = { POST "Content-Length: 4\r\n\r\nhold", "GET /open ",
					    NULL };
	static const char *const BURST[] = { POST "Content-Length: 5\r\n\r\nburst", NULL };
	static const char *const WRONG[] = { "PUT /mcp HTTP/1.1\r\nHost: localhost\r\n"
					     "Content-Length: 5\r\n\r\n",
					     "ab", "cde", "nonsense\r\n\r\n", NULL };
	fw_error *err;

	fake_init(&server);
	err = fw_server_listen_http(&server, NULL);
	if (!err)
		err = server.transport->ops->start(server.transport);
	if (!err) {
		exchange_in_pieces(HEADS);
		exchange_in_pieces(CHUNKS);
		exchange_in_pieces(HOLD);
		exchange_in_pieces(BURST);
		exchange_in_pieces(WRONG);
	}
	fw_error_free(err);
	fake_clear(&server);
}

static void test_http_peers__each_allocation_may_fail(void **state)
{
	(void)state;
	each_allocation_fails(serve_without_memory);
}

#define LISTENING(test) cmocka_unit_test_setup_teardown(test, begin_listening, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LISTENING(test_http_peers__notices_a_client_that_disconnects_while_it_waits),
		LISTENING(
			test_http_peers__notices_a_client_that_disconnects_from_an_open_stream),
		LISTENING(test_http_peers__a_half_closed_request_gets_its_answer),
		LISTENING(
			test_http_peers__a_half_closed_request_gets_a_slow_answer_as_a_stream),
		LISTENING(
			test_http_peers__half_closed_pipelined_requests_get_all_their_answers),
		LISTENING(test_http_peers__a_half_closed_refusal_is_sent),
		LISTENING(test_http_peers__cuts_off_a_client_that_does_not_read),
		LISTENING(test_http_peers__drops_a_client_that_disconnects_during_its_request),
		LISTENING(test_http_peers__drops_clients_that_send_and_disconnect_at_once),
		LISTENING(
			test_http_peers__a_client_that_still_sends_is_not_reset_after_a_second),
		LISTENING(test_http_peers__a_closing_connection_without_a_byte_is_closed),
		LISTENING(test_http_peers__cuts_off_slow_first_lines),
		LISTENING(test_http_peers__cuts_off_slow_headers),
		LISTENING(test_http_peers__cuts_off_slow_bodies),
		LISTENING(test_http_peers__closes_idle_connections),
		LISTENING(test_http_peers__does_not_close_a_stream_for_being_quiet),
		cmocka_unit_test(
			test_http_peers__a_connection_of_the_busiest_address_is_evicted),
		cmocka_unit_test(test_http_peers__a_new_connection_is_not_evicted),
		cmocka_unit_test(test_http_peers__a_request_that_is_answered_is_not_evicted),
		cmocka_unit_test(test_http_peers__unread_bodies_are_limited_in_all),
		cmocka_unit_test(test_http_peers__each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
