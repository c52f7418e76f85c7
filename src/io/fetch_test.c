/*
 * fetch_test.c - the HTTP client against a real socket that sends the answer of the
 * test.
 */
#include "io/fetch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include <faultwire/raise.h>

#include "base/buf.h"

/* A server on a thread of its own: it accepts one connection after another, and
 * answers each request with the same bytes. */
struct peer {
	int fd;
	uint16_t port;
	uv_thread_t thread;
	const char *answer; /* NULL: closes without one */
	bool resets;        /* instead of closing */
	unsigned connections;
	unsigned requests; /* serve_one_of_two() */
	char request[4096];
};

static void serve(void *ctx)
{
	struct peer *peer = ctx;

	for (unsigned i = 0; i < peer->connections; i++) {
		int fd = accept(peer->fd, NULL, NULL);
		size_t len = 0;
		ssize_t got;

		if (fd < 0)
			return;
		/* Test bodies end in "$". */
		while (len < sizeof peer->request - 1 &&
		       (got = recv(fd, peer->request + len, sizeof peer->request - 1 - len,
				   0)) > 0) {
			len += (size_t)got;
			peer->request[len] = '\0';
			if (peer->request[len - 1] == '$' ||
			    strncmp(peer->request, "GET", 3) == 0)
				break;
		}
		if (peer->answer)
			(void)send(fd, peer->answer, strlen(peer->answer), MSG_NOSIGNAL);
		if (peer->resets) {
			const struct linger at_once = { .l_onoff = 1, .l_linger = 0 };

			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
		}
		close(fd);
	}
}

/* Answers the first request of a connection, and closes without an answer to the second. */
static void serve_one_of_two(void *ctx)
{
	static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
	struct peer *peer = ctx;
	int fd;

	while ((fd = accept(peer->fd, NULL, NULL)) >= 0) {
		for (int i = 0; i < 2 && recv(fd, peer->request, sizeof peer->request, 0) > 0;
		     i++) {
			peer->requests++;
			if (i == 0)
				(void)send(fd, answer, sizeof answer - 1, MSG_NOSIGNAL);
		}
		close(fd);
	}
}

static void peer_open(struct peer *peer, const char *answer, unsigned connections, bool resets,
		      uv_thread_cb serves)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof address;

	*peer = (struct peer){ .answer = answer, .connections = connections, .resets = resets };
	peer->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(peer->fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(listen(peer->fd, 8), 0);
	assert_int_equal(getsockname(peer->fd, (struct sockaddr *)&address, &len), 0);
	peer->port = ntohs(address.sin_port);
	assert_int_equal(uv_thread_create(&peer->thread, serves, peer), 0);
}

static void peer_start(struct peer *peer, const char *answer, unsigned connections)
{
	peer_open(peer, answer, connections, false, serve);
}

static void peer_end(struct peer *peer)
{
	/* Wakes the thread if it waits in accept(). */
	shutdown(peer->fd, SHUT_RDWR);
	uv_thread_join(&peer->thread);
	close(peer->fd);
}

/* What a request reported. */
struct seen {
	struct fw_buf body;
	int status;
	char type[64];
	unsigned heads;
	unsigned ends;
	fw_error *err;
	bool cancels_in_head;
	bool refuses_body;
	struct fw_fetch *cancels_in_end;
};

static void see_head(void *ctx, struct fw_fetch *fetch)
{
	struct seen *seen = ctx;
	const char *type = fw_fetch_header(fetch, "content-type");

	seen->heads++;
	seen->status = fw_fetch_status(fetch);
	snprintf(seen->type, sizeof seen->type, "%s", type ? type : "");
	if (seen->cancels_in_head)
		fw_fetch_cancel(fetch);
}

static bool see_body(void *ctx, const char *bytes, size_t len)
{
	struct seen *seen = ctx;

	fw_buf_put(&seen->body, bytes, len);
	return !seen->refuses_body;
}

static void see_end(void *ctx, struct fw_fetch *fetch, fw_error *err)
{
	struct seen *seen = ctx;

	(void)fetch;
	seen->ends++;
	seen->err = err;
	fw_fetch_cancel(seen->cancels_in_end);
}

struct bench {
	struct fw_loop loop;
	struct fw_fetcher *fetcher;
	struct seen seen;
};

static void bench_begin(struct bench *bench)
{
	memset(bench, 0, sizeof *bench);
	fw_buf_init(&bench->seen.body, 1 << 20);
	assert_int_equal(fw_loop_init(&bench->loop), 0);
	assert_null(fw_fetcher_new(&bench->loop, &bench->fetcher));
}

static void bench_end(struct bench *bench)
{
	fw_fetcher_free(bench->fetcher);
	fw_loop_close(&bench->loop);
	fw_buf_clear(&bench->seen.body);
	fw_error_free(bench->seen.err);
	assert_int_equal(fw_error_live(), 0);
}

static struct fw_fetch *ask(struct bench *bench, struct seen *seen, uint16_t port,
			    const char *method, const char *body)
{
	static const char *const HEADERS[] = { "X-Test: yes", NULL };
	struct fw_fetch *fetch = NULL;
	char url[64];

	snprintf(url, sizeof url, "http://127.0.0.1:%u/x", port);
	assert_null(fw_fetch_start(bench->fetcher,
				   &(struct fw_fetch_options){
					   .method = method,
					   .url = url,
					   .headers = HEADERS,
					   .body = body,
					   .len = body ? strlen(body) : 0,
					   .total_ms = 5000,
					   .on = { see_head, see_body, see_end },
					   .ctx = seen,
				   },
				   &fetch));
	return fetch;
}

static void test_fetch__a_response_reports_head_body_and_end(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer,
		   "HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: "
		   "5\r\n\r\nhello",
		   1);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_int_equal(bench.seen.ends, 1);
	assert_int_equal(bench.seen.heads, 1);
	assert_null(bench.seen.err);
	assert_int_equal(bench.seen.status, 404);
	assert_string_equal(bench.seen.type, "text/plain");
	assert_string_equal(bench.seen.body.text, "hello");
	assert_non_null(strstr(peer.request, "X-Test: yes\r\n"));
	assert_non_null(strstr(peer.request, "POST /x HTTP/1.1"));
	assert_null(strstr(peer.request, "Expect"));
	bench_end(&bench);
}

static void test_fetch__a_response_without_a_body_reports_its_head(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", 1);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "GET", NULL);
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_int_equal(bench.seen.heads, 1);
	assert_int_equal(bench.seen.status, 202);
	assert_int_equal(bench.seen.ends, 1);
	assert_null(bench.seen.err);
	bench_end(&bench);
}

static void test_fetch__a_refused_connection_was_not_sent(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, NULL, 0);
	peer_end(&peer);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	assert_int_equal(bench.seen.ends, 1);
	assert_int_equal(bench.seen.heads, 0);
	assert_int_equal(fw_error_code(bench.seen.err), FW_TRANSPORT_CONNECTION_REFUSED);
	assert_int_equal(fw_error_delivery(bench.seen.err), FW_NOT_SENT);
	bench_end(&bench);
}

static void test_fetch__a_connection_closed_without_an_answer_was_sent(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, NULL, 1);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_non_null(bench.seen.err);
	assert_int_equal(fw_error_delivery(bench.seen.err), FW_SENT);
	bench_end(&bench);
}

static void test_fetch__a_reset_connection_is_reported_as_one(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_open(&peer, NULL, 1, true, serve);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_int_equal(bench.seen.ends, 1);
	assert_int_equal(fw_error_code(bench.seen.err), FW_TRANSPORT_CONNECTION_RESET);
	assert_int_equal(fw_error_delivery(bench.seen.err), FW_SENT);
	bench_end(&bench);
}

static void test_fetch__a_request_without_an_answer_is_not_sent_again(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_open(&peer, NULL, 0, false, serve_one_of_two);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	assert_null(bench.seen.err);
	/* On the connection that was kept. */
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	assert_int_equal(bench.seen.ends, 2);
	assert_int_equal(fw_error_code(bench.seen.err), FW_TRANSPORT_CONNECTION_RESET);
	assert_int_equal(fw_error_delivery(bench.seen.err), FW_SENT);
	peer_end(&peer);
	assert_int_equal(peer.requests, 2);
	bench_end(&bench);
}

static void test_fetch__a_cut_body_was_replied(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello", 1);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_non_null(bench.seen.err);
	assert_int_equal(fw_error_delivery(bench.seen.err), FW_REPLIED);
	assert_string_equal(bench.seen.body.text, "hello");
	bench_end(&bench);
}

static void test_fetch__nothing_is_called_after_a_cancellation(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 1);
	bench_begin(&bench);
	bench.seen.cancels_in_head = true;
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_int_equal(bench.seen.heads, 1);
	assert_int_equal(bench.seen.ends, 0);
	assert_int_equal(bench.seen.body.len, 0);
	bench_end(&bench);
}

static void test_fetch__cancelling_before_the_loop_runs_frees_it(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, NULL, 0);
	bench_begin(&bench);
	fw_fetch_cancel(ask(&bench, &bench.seen, peer.port, "POST", "{}$"));
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_int_equal(bench.seen.ends, 0);
	bench_end(&bench);
}

static void test_fetch__one_can_cancel_another_from_its_end(void **state)
{
	struct seen other = { .status = 0 };
	struct bench bench;
	struct peer answers, hangs;

	(void)state;
	peer_start(&answers, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1);
	peer_start(&hangs, NULL, 0);
	bench_begin(&bench);
	bench.seen.cancels_in_end = ask(&bench, &other, hangs.port, "POST", "{}$");
	ask(&bench, &bench.seen, answers.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&answers);
	peer_end(&hangs);
	assert_int_equal(bench.seen.ends, 1);
	assert_int_equal(other.ends, 0);
	bench_end(&bench);
}

static void test_fetch__a_body_that_is_refused_ends_the_request(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 1);
	bench_begin(&bench);
	bench.seen.refuses_body = true;
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	fw_loop_run(&bench.loop);
	peer_end(&peer);
	assert_int_equal(bench.seen.ends, 1);
	assert_int_equal(fw_error_code(bench.seen.err), FW_RUNTIME_CANCELLED);
	bench_end(&bench);
}

static void test_fetch__freeing_the_fetcher_ends_open_requests(void **state)
{
	struct bench bench;
	struct peer peer;

	(void)state;
	peer_start(&peer, NULL, 0);
	bench_begin(&bench);
	ask(&bench, &bench.seen, peer.port, "POST", "{}$");
	(void)uv_run(&bench.loop.uv, UV_RUN_NOWAIT);
	bench_end(&bench);
	peer_end(&peer);
	assert_int_equal(bench.seen.ends, 0);
}

static void test_fetch__a_header_with_a_line_break_is_refused(void **state)
{
	static const char *const HEADERS[] = { "X: y\r\nZ: injected", NULL };
	struct fw_fetch *fetch = NULL;
	struct bench bench;
	fw_error *err;

	(void)state;
	bench_begin(&bench);
	err = fw_fetch_start(bench.fetcher,
			     &(struct fw_fetch_options){ .method = "GET",
							 .url = "http://127.0.0.1:1/",
							 .headers = HEADERS,
							 .on = { NULL, see_body, see_end } },
			     &fetch);
	assert_int_equal(fw_error_code(err), FW_INTERNAL_API_MISUSE);
	assert_null(fetch);
	fw_error_free(err);
	bench_end(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fetch__a_response_reports_head_body_and_end),
		cmocka_unit_test(test_fetch__a_response_without_a_body_reports_its_head),
		cmocka_unit_test(test_fetch__a_refused_connection_was_not_sent),
		cmocka_unit_test(test_fetch__a_connection_closed_without_an_answer_was_sent),
		cmocka_unit_test(test_fetch__a_reset_connection_is_reported_as_one),
		cmocka_unit_test(test_fetch__a_request_without_an_answer_is_not_sent_again),
		cmocka_unit_test(test_fetch__a_cut_body_was_replied),
		cmocka_unit_test(test_fetch__nothing_is_called_after_a_cancellation),
		cmocka_unit_test(test_fetch__cancelling_before_the_loop_runs_frees_it),
		cmocka_unit_test(test_fetch__one_can_cancel_another_from_its_end),
		cmocka_unit_test(test_fetch__a_body_that_is_refused_ends_the_request),
		cmocka_unit_test(test_fetch__freeing_the_fetcher_ends_open_requests),
		cmocka_unit_test(test_fetch__a_header_with_a_line_break_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
