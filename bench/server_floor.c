/*
 * server_floor.c - the least that a server can do: the floor of bench/server.
 *
 * Reads a line (or an HTTP request), finds the id and the text by search, and
 * writes a prepared reply around them. It parses no JSON, checks nothing and is
 * no MCP server: what it costs is the cost of the transport alone. Its failing
 * tool answers with isError and the text, where a real server also reports a code. For
 * bench/gate it also lists its tools, and on stdio `big` answers with 4 MiB.
 *
 *   server_floor --stdio
 *   server_floor --http PORT      on the loopback; 8 connections or so
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER = 1 << 16, REPLY_MAX = 1024, CONNECTIONS = 64, BIG = 4 << 20 };

struct input {
	int fd;
	size_t len;
	char bytes[BUFFER];
};

struct text {
	const char *p;
	size_t n;
};

#define PUT(at, literal) put(at, (struct text){ literal, sizeof(literal) - 1 })

static char *put(char *at, struct text text)
{
	memcpy(at, text.p, text.n);
	return at + text.n;
}

#define HAS(in, literal) (memmem((in).p, (in).n, literal, sizeof(literal) - 1) != NULL)

/* What stands between `before` and the next `end`; nothing if it is over 256 bytes. */
static struct text between(struct text in, struct text before, char end)
{
	const char *from = memmem(in.p, in.n, before.p, before.n);
	struct text found = { NULL, 0 };
	const char *stop;

	if (!from)
		return found;
	from += before.n;
	stop = memchr(from, end, (size_t)(in.p + in.n - from));
	if (stop && stop - from <= 256)
		found = (struct text){ from, (size_t)(stop - from) };
	return found;
}

#define BETWEEN(in, literal, end) \
	between(in, (struct text){ literal, sizeof(literal) - 1 }, end)

/* The raw id. Some clients write it last, so it may end at the brace. */
static struct text id_of(struct text message)
{
	struct text id = BETWEEN(message, "\"id\":", ',');

	if (!id.n)
		id = BETWEEN(message, "\"id\":", '}');
	return id;
}

/* Writes the reply to `message` at `at`, where REPLY_MAX bytes fit. Returns its
 * length, 0 when none is due. */
static size_t answer(struct text message, char *at)
{
	struct text id = id_of(message);
	char *end = at;

	if (!id.n || HAS(message, "\"notifications/"))
		return 0;
	end = PUT(end, "{\"jsonrpc\":\"2.0\",\"id\":");
	end = put(end, id);
	if (HAS(message, "\"tools/call\"")) {
		end = PUT(end, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
		end = put(end, BETWEEN(message, "\"text\":\"", '"'));
		if (HAS(message, "\"fail\""))
			end = PUT(end, "\"}],\"isError\":true}}");
		else
			end = PUT(end, "\"}]}}");
	} else if (HAS(message, "\"tools/list\"")) {
		end = PUT(end, ",\"result\":{\"tools\":["
			       "{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}},"
			       "{\"name\":\"fail\",\"inputSchema\":{\"type\":\"object\"}},"
			       "{\"name\":\"big\",\"inputSchema\":{\"type\":\"object\"}}]}}");
	} else if (HAS(message, "\"server/discover\"")) {
		end = PUT(end, ",\"error\":{\"code\":-32601,"
			       "\"message\":\"method not found\"}}");
	} else {
		end = PUT(end, ",\"result\":{\"protocolVersion\":\"2025-06-18\","
			       "\"capabilities\":{\"tools\":{}},"
			       "\"serverInfo\":{\"name\":\"floor\",\"version\":\"1\"}}}");
	}
	return (size_t)(end - at);
}

static bool write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

static bool fill(struct input *in)
{
	ssize_t n = read(in->fd, in->bytes + in->len, sizeof(in->bytes) - in->len);

	if (n <= 0)
		return false;
	in->len += (size_t)n;
	return true;
}

static void drop(struct input *in, size_t n)
{
	in->len -= n;
	memmove(in->bytes, in->bytes + n, in->len);
}

/* ---- stdio ------------------------------------------------------------- */

/* A reply of 4 MiB, made at the first call: what it costs to make is not measured. */
static bool answer_big(struct text message)
{
	static const char tail[] = "\"}]}}\n";
	static char *text;
	char head[REPLY_MAX], *at = head;

	if (!text) {
		text = malloc(BIG);
		if (!text)
			return false;
		memset(text, 'x', BIG);
	}
	at = PUT(at, "{\"jsonrpc\":\"2.0\",\"id\":");
	at = put(at, id_of(message));
	at = PUT(at, ",\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"");
	return write_all(STDOUT_FILENO, head, (size_t)(at - head)) &&
	       write_all(STDOUT_FILENO, text, BIG) &&
	       write_all(STDOUT_FILENO, tail, sizeof(tail) - 1);
}

/* All the lines that came with one read are answered with one write. */
static bool answer_lines(struct input *in)
{
	static char out[BUFFER];
	size_t used = 0, done = 0;
	char *end;

	while ((end = memchr(in->bytes + done, '\n', in->len - done)) != NULL) {
		struct text line = { in->bytes + done, (size_t)(end - in->bytes) - done };
		size_t n;

		done += line.n + 1;
		if (HAS(line, "\"name\":\"big\"")) {
			if (!write_all(STDOUT_FILENO, out, used) || !answer_big(line))
				return false;
			used = 0;
			continue;
		}
		n = answer(line, out + used);
		used += n;
		if (n)
			out[used++] = '\n';
		if (used > sizeof(out) - REPLY_MAX) {
			if (!write_all(STDOUT_FILENO, out, used))
				return false;
			used = 0;
		}
	}
	drop(in, done);
	return write_all(STDOUT_FILENO, out, used);
}

static int serve_stdio(void)
{
	static struct input in = { .fd = STDIN_FILENO };

	while (fill(&in))
		if (!answer_lines(&in))
			return 1;
	return 0;
}

/* ---- http -------------------------------------------------------------- */

static char *put_number(char *at, size_t n)
{
	if (n >= 10)
		at = put_number(at, n / 10);
	*at++ = (char)('0' + n % 10);
	return at;
}

/* Answers the requests that are complete. */
static bool answer_requests(struct input *in)
{
	for (;;) {
		struct text head = { in->bytes, 0 }, body, length;
		char *end = memmem(in->bytes, in->len, "\r\n\r\n", 4);
		char reply[REPLY_MAX], out[2 * REPLY_MAX], *at;
		size_t n;

		if (!end)
			return true;
		head.n = (size_t)(end - in->bytes) + 4;
		body.p = in->bytes + head.n;
		length = BETWEEN(head, "Content-Length: ", '\r');
		if (!length.n)
			length = BETWEEN(head, "content-length: ", '\r');
		body.n = length.n ? strtoul(length.p, NULL, 10) : 0;
		if (in->len - head.n < body.n)
			return true;
		n = answer(body, reply);
		at = out;
		if (n) {
			at = PUT(at, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				     "Content-Length: ");
			at = put_number(at, n);
			at = PUT(at, "\r\n\r\n");
			at = put(at, (struct text){ reply, n });
		} else if (!memcmp(head.p, "GET ", 4)) {
			at = PUT(at, "HTTP/1.1 405 Method Not Allowed\r\nAllow: POST\r\n"
				     "Content-Length: 0\r\n\r\n");
		} else {
			at = PUT(at, "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n");
		}
		if (!write_all(in->fd, out, (size_t)(at - out)))
			return false;
		drop(in, head.n + body.n);
	}
}

static int listen_on(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) || listen(fd, 128)) {
		perror("server_floor");
		exit(1);
	}
	return fd;
}

static void watch(int epoll, int fd, void *with)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = with };

	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void take_connection(int epoll, int listener)
{
	int fd = accept(listener, NULL, NULL), one = 1;
	struct input *in = fd < 0 ? NULL : malloc(sizeof(*in));

	if (!in)
		return;
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	in->fd = fd;
	in->len = 0;
	watch(epoll, fd, in);
}

_Noreturn static void serve_http(uint16_t port)
{
	int listener = listen_on(port), epoll = epoll_create1(0);

	watch(epoll, listener, NULL);
	fprintf(stderr, "http://127.0.0.1:%u/mcp\n", (unsigned)port);
	for (;;) {
		struct epoll_event events[CONNECTIONS];
		int n = epoll_wait(epoll, events, CONNECTIONS, -1);

		for (int i = 0; i < n; i++) {
			struct input *in = events[i].data.ptr;

			if (!in) {
				take_connection(epoll, listener);
			} else if (!fill(in) || !answer_requests(in)) {
				close(in->fd);
				free(in);
			}
		}
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "--stdio"))
		return serve_stdio();
	if (argc == 3 && !strcmp(argv[1], "--http"))
		serve_http((uint16_t)strtoul(argv[2], NULL, 10));
	fputs("usage: server_floor --stdio | --http PORT\n", stderr);
	return 2;
}
