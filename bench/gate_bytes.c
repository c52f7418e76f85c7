/*
 * gate_bytes.c - how many bytes per second a large result passes at, for bench/gate.
 *
 * Starts COMMAND, a server on stdio or something before one, says hello, and calls
 * its tool `big` one call at a time. A reply is read to its newline and its length is
 * checked. The measure is `sh -c 'server_floor --stdio | cat'`.
 *
 *   gate_bytes SECONDS -- COMMAND...
 *
 * Prints "bytes MIB_PER_S".
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memrchr */
#endif
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, SMALLEST = 4 << 20, WATCHDOG_S = 60 };

static int to_server = -1, from_server = -1;

_Noreturn static void die(const char *what)
{
	fprintf(stderr, "gate_bytes: %s\n", what);
	exit(2);
}

static double now_s(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static pid_t start(char **command)
{
	int in[2], out[2];
	pid_t child;

	if (pipe(in) || pipe(out))
		die("no pipe");
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)close(in[0]);
		(void)close(in[1]);
		(void)close(out[0]);
		(void)close(out[1]);
		execvp(command[0], command);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	to_server = in[1];
	from_server = out[0];
	return child;
}

static void send_line(const char *line)
{
	size_t len = strlen(line);

	while (len) {
		ssize_t n = write(to_server, line, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("the server does not read");
		line += n;
		len -= (size_t)n;
	}
}

/* Reads one line; it must be the last thing that came. */
static size_t read_line(void)
{
	static char bytes[CHUNK];
	size_t len = 0;

	for (;;) {
		ssize_t n = read(from_server, bytes, sizeof(bytes));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			die("the server ended");
		len += (size_t)n;
		if (memrchr(bytes, '\n', (size_t)n))
			return len;
	}
}

static size_t call_big(unsigned id)
{
	char line[256];

	(void)snprintf(line, sizeof(line),
		       "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":"
		       "{\"name\":\"big\",\"arguments\":{}}}\n",
		       id);
	send_line(line);
	return read_line();
}

int main(int argc, char **argv)
{
	double seconds = argc > 3 ? strtod(argv[1], NULL) : 0, from, took;
	uint64_t bytes = 0;
	unsigned id = 0;
	pid_t child;

	if (argc < 4 || strcmp(argv[2], "--") != 0) {
		fputs("usage: gate_bytes SECONDS -- COMMAND...\n", stderr);
		return 2;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	(void)alarm(WATCHDOG_S);
	child = start(argv + 3);
	send_line("{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		  "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
		  "\"clientInfo\":{\"name\":\"gate_bytes\",\"version\":\"1\"}}}\n");
	(void)read_line();
	send_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
	for (int i = 0; i < 3; i++)
		if (call_big(++id) < SMALLEST)
			die("a reply is not the large one");
	from = now_s();
	do {
		size_t n = call_big(++id);

		if (n < SMALLEST)
			die("a reply is not the large one");
		bytes += n;
		took = now_s() - from;
	} while (took < seconds);
	printf("bytes %.1f\n", (double)bytes / took / (1 << 20));
	(void)close(to_server);
	(void)close(from_server);
	(void)waitpid(child, NULL, 0);
	return 0;
}
