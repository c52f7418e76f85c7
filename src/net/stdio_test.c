/*
 * stdio_test.c - the stdio transport of a real server: one socket for both
 * directions, a last line without a newline, and an output that nobody reads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <faultwire/server.h>

#include "mcp/transport.h"

static const char ping[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

enum { REPLY_BYTES = 1000 * 1000, GUARDED_BYTES = 64 * 1024, GUARDED_MAX = 16, REQUESTS = 20 };

/* ---- a server that ends with its input ------------------------------------------- */

static fw_error *large(fw_call *call, void *ctx)
{
	char *text = malloc(REPLY_BYTES);

	(void)ctx;
	assert_non_null(text);
	memset(text, 'x', REPLY_BYTES);
	fw_call_text_n(call, text, REPLY_BYTES);
	free(text);
	return NULL;
}

/* Without a transport: limits are set before there is one. */
static fw_server *server_bare(void)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_tool tool = FW_TOOL_INIT;
	fw_server *server = NULL;

	options.name = "test";
	options.version = "1";
	options.keep_signals = true;
	assert_null(fw_server_new(&options, &server));
	tool.name = "large";
	tool.handler = large;
	assert_null(fw_server_add_tool(server, &tool));
	return server;
}

static fw_server *server_new(int in, int out)
{
	fw_server *server = server_bare();

	assert_null(fw_server_listen_fds(server, in, out));
	return server;
}

static void serve(int in, int out)
{
	fw_server *server = server_new(in, out);

	assert_null(fw_server_run(server));
	fw_server_free(server);
}

/* ---- one socket for both directions ----------------------------------------------- */

struct reader {
	int fd;
	size_t received;
	bool has_line;
};

/* Starts to read only when the buffer of the socket is full. */
static void *read_late(void *ctx)
{
	static const char call[] =
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"large\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
		"\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
	struct reader *reader = ctx;
	char bytes[16 * 1024];
	ssize_t n;

	if (write(reader->fd, call, sizeof call - 1) != (ssize_t)sizeof call - 1)
		return NULL;
	(void)usleep(200 * 1000);
	while (!reader->has_line && (n = read(reader->fd, bytes, sizeof bytes)) > 0) {
		reader->received += (size_t)n;
		reader->has_line = bytes[n - 1] == '\n';
	}
	(void)shutdown(reader->fd, SHUT_RDWR);
	return NULL;
}

static void test_stdio__large_reply_is_cut_on_one_socket_for_both_directions(void **state)
{
	struct reader reader = { 0 };
	pthread_t thread;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	reader.fd = ends[0];
	assert_int_equal(pthread_create(&thread, NULL, read_late, &reader), 0);
	serve(ends[1], ends[1]);
	/* Do not wait for bytes that the server has given up to send. */
	(void)shutdown(ends[1], SHUT_RDWR);
	assert_int_equal(pthread_join(thread, NULL), 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_true(reader.has_line);
	assert_true(reader.received > REPLY_BYTES);
}

/* ---- the longest line that is allowed ----------------------------------------------- */

enum { LONGEST = 1024 };

/* Sends a ping of the longest length, whose newline comes later than its CR. */
static void *ping_in_two_pieces(void *ctx)
{
	const int *fd = ctx;
	char line[LONGEST + 1];

	memset(line, ' ', sizeof line);
	memcpy(line, ping, sizeof ping - 2);
	line[LONGEST] = '\r';
	if (write(*fd, line, sizeof line) != (ssize_t)sizeof line)
		return NULL;
	(void)usleep(200 * 1000);
	(void)!write(*fd, "\n", 1);
	(void)shutdown(*fd, SHUT_WR);
	return NULL;
}

static void test_stdio__longest_line_is_refused_when_its_newline_comes_late(void **state)
{
	char reply[4096] = "";
	fw_server *server;
	pthread_t thread;
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	server = server_bare();
	assert_null(fw_server_set_limit(server, "message_bytes", LONGEST));
	assert_null(fw_server_listen_fds(server, ends[1], ends[1]));
	assert_int_equal(pthread_create(&thread, NULL, ping_in_two_pieces, &ends[0]), 0);
	assert_null(fw_server_run(server));
	fw_server_free(server);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(recv(ends[0], reply, sizeof reply - 1, MSG_DONTWAIT) > 0);
	(void)close(ends[0]);
	(void)close(ends[1]);
	assert_null(strstr(reply, "input.too_large"));
	assert_non_null(strstr(reply, "\"id\":1"));
}

/* ---- a last line without a newline ------------------------------------------------ */

/* Large blocks are filled with spaces and end at a page that cannot be read. */
static struct {
	char *start;
	char *block;
	size_t size;
	size_t mapped;
} guarded[GUARDED_MAX];

static void *guard_allocate(void *ctx, size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = (size + page - 1) / page * page;
	size_t i = 0;

	(void)ctx;
	if (size < GUARDED_BYTES)
		return malloc(size);
	while (guarded[i].block)
		assert_true(++i < GUARDED_MAX);
	guarded[i].mapped = room + page;
	guarded[i].size = size;
	guarded[i].start = mmap(NULL, room + page, PROT_READ | PROT_WRITE,
				/* cppcheck-suppress invalidFunctionArg ; anonymous */
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(guarded[i].start, MAP_FAILED);
	assert_int_equal(mprotect(guarded[i].start + room, page, PROT_NONE), 0);
	guarded[i].block = guarded[i].start + room - size;
	memset(guarded[i].block, ' ', size);
	return guarded[i].block;
}

static void guard_release(void *ctx, void *ptr)
{
	(void)ctx;
	for (size_t i = 0; i < GUARDED_MAX; i++) {
		if (guarded[i].block != ptr)
			continue;
		(void)munmap(guarded[i].start, guarded[i].mapped);
		guarded[i].block = NULL;
		return;
	}
	free(ptr);
}

static void *guard_reallocate(void *ctx, void *ptr, size_t size)
{
	void *moved;

	for (size_t i = 0; ptr && i < GUARDED_MAX; i++) {
		if (guarded[i].block != ptr)
			continue;
		moved = guard_allocate(ctx, size);
		memcpy(moved, ptr, size < guarded[i].size ? size : guarded[i].size);
		guard_release(ctx, ptr);
		return moved;
	}
	/* Small blocks stay small here: nothing grows beyond the limit from one. */
	if (size < GUARDED_BYTES)
		return realloc(ptr, size);
	assert_null(ptr);
	return guard_allocate(ctx, size);
}

static int reset_allocator(void **state)
{
	(void)state;
	fw_allocator_set(NULL);
	return 0;
}

static void test_stdio__blank_last_line_is_read_beyond_its_end(void **state)
{
	static const fw_allocator guard = { guard_allocate, guard_reallocate, guard_release,
					    NULL };
	int in[2], out[2];
	char byte;

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	assert_int_equal(write(in[1], "  ", 2), 2);
	(void)close(in[1]);
	fw_allocator_set(&guard);
	serve(in[0], out[1]);
	fw_allocator_set(NULL);
	(void)close(in[0]);
	(void)close(out[1]);
	assert_int_equal(read(out[0], &byte, 1), 0); /* a blank line has no answer */
	(void)close(out[0]);
}

/* ---- a line that memory is not enough for ------------------------------------------ */

enum { LARGEST_BLOCK = 512 * 1024, LONG_LINE = 1024 * 1024 };

static void *small_allocate(void *ctx, size_t size)
{
	(void)ctx;
	return size > LARGEST_BLOCK ? NULL : malloc(size);
}

static void *small_reallocate(void *ctx, void *ptr, size_t size)
{
	(void)ctx;
	return size > LARGEST_BLOCK ? NULL : realloc(ptr, size);
}

static void small_release(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

static void test_stdio__line_without_memory_is_called_too_large(void **state)
{
	static const fw_allocator small = { small_allocate, small_reallocate, small_release,
					    NULL };
	int in = memfd_create("in", MFD_CLOEXEC), out = memfd_create("out", MFD_CLOEXEC);
	char reply[4096] = "";

	(void)state;
	assert_int_equal(ftruncate(in, LONG_LINE), 0);
	assert_int_equal(pwrite(in, "\n", 1, LONG_LINE), 1);
	assert_int_equal(pwrite(in, ping, sizeof ping - 1, LONG_LINE + 1), sizeof ping - 1);
	fw_allocator_set(&small);
	serve(in, out);
	fw_allocator_set(NULL);
	assert_true(pread(out, reply, sizeof reply - 1, 0) > 0);
	(void)close(in);
	(void)close(out);
	assert_non_null(strstr(reply, "internal.out_of_memory"));
	assert_null(strstr(reply, "input.too_large"));
	/* The next line is read. */
	assert_non_null(strstr(reply, "\"id\":1"));
}

/* ---- output that nobody reads ------------------------------------------------------- */

enum { FIRST_MS = 50, WATCHED_MS = 500, TURNS_MAX = 1000 };

static unsigned turns;
static int input;

static void on_turn(uv_prepare_t *prepare)
{
	(void)prepare;
	turns++;
}

static void on_watched(uv_timer_t *timer)
{
	fw_server_stop(timer->data);
	uv_close((uv_handle_t *)timer, NULL);
}

/* The server has noticed that nobody reads its output. */
static void on_first(uv_timer_t *timer)
{
	assert_int_equal(write(input, ping, sizeof ping - 1), sizeof ping - 1);
	(void)uv_timer_start(timer, on_watched, WATCHED_MS, 0);
}

static void test_stdio__loop_spins_when_output_is_closed_and_http_continues(void **state)
{
	fw_http_options http = FW_HTTP_OPTIONS_INIT;
	fw_server *server;
	uv_prepare_t prepare;
	uv_timer_t timer;
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	(void)close(out[0]);
	server = server_new(in[0], out[1]);
	assert_null(fw_server_listen_http(server, &http));
	input = in[1];
	assert_int_equal(write(input, ping, sizeof ping - 1), sizeof ping - 1);
	(void)uv_prepare_init(fw_server__loop(server), &prepare);
	(void)uv_prepare_start(&prepare, on_turn);
	(void)uv_timer_init(fw_server__loop(server), &timer);
	timer.data = server;
	(void)uv_timer_start(&timer, on_first, FIRST_MS, 0);
	turns = 0;
	assert_null(fw_server_run(server));
	uv_close((uv_handle_t *)&prepare, NULL);
	fw_server_free(server);
	(void)close(in[0]);
	(void)close(in[1]);
	(void)close(out[1]);
	assert_true(turns < TURNS_MAX);
}

/* ---- many requests in one read ------------------------------------------------------ */

static int output = -1;
static int bytes_before; /* that the client can read while the last request is handled */

static fw_error *look(fw_call *call, void *ctx)
{
	(void)ctx;
	assert_int_equal(ioctl(output, FIONREAD, &bytes_before), 0);
	fw_call_text(call, "seen");
	return NULL;
}

static void test_stdio__first_replies_wait_for_the_last_request_of_a_read(void **state)
{
	static const char call[] =
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":"
		"\"look\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
		"\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n";
	char received[REQUESTS * 64 + 1024];
	fw_tool tool = FW_TOOL_INIT;
	fw_server *server = server_bare();
	size_t lines = 0;
	ssize_t n;
	int in[2], out[2];

	(void)state;
	assert_int_equal(pipe(in), 0);
	assert_int_equal(pipe(out), 0);
	output = out[0];
	tool.name = "look";
	tool.handler = look;
	tool.run = FW_RUN_INLINE;
	assert_null(fw_server_add_tool(server, &tool));
	assert_null(fw_server_listen_fds(server, in[0], out[1]));
	for (int i = 0; i < REQUESTS; i++)
		assert_int_equal(write(in[1], ping, sizeof ping - 1), sizeof ping - 1);
	assert_int_equal(write(in[1], call, sizeof call - 1), sizeof call - 1);
	(void)close(in[1]);
	assert_null(fw_server_run(server));
	fw_server_free(server);
	n = read(out[0], received, sizeof received);
	assert_true(n > 0);
	for (ssize_t i = 0; i < n; i++)
		lines += received[i] == '\n';
	assert_int_equal(lines, REQUESTS + 1);
	assert_true(bytes_before > 0);
	(void)close(in[0]);
	(void)close(out[0]);
	(void)close(out[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_stdio__large_reply_is_cut_on_one_socket_for_both_directions),
		cmocka_unit_test(
			test_stdio__longest_line_is_refused_when_its_newline_comes_late),
		cmocka_unit_test_teardown(test_stdio__blank_last_line_is_read_beyond_its_end,
					  reset_allocator),
		cmocka_unit_test_teardown(test_stdio__line_without_memory_is_called_too_large,
					  reset_allocator),
		cmocka_unit_test(
			test_stdio__loop_spins_when_output_is_closed_and_http_continues),
		cmocka_unit_test(test_stdio__first_replies_wait_for_the_last_request_of_a_read),
	};

	return cmocka_run_group_tests_name("stdio", tests, NULL, NULL);
}
