/*
 * flaky.c - a small MCP server on stdio that fails while a file exists, for
 * test/lab/chaos.mjs, or when it is asked to, for test/wire/gate_effects.mjs. It is written in C
 * because both restart servers all the time.
 *
 *   flaky FILE
 *
 * While FILE exists, each call of the tool `echo` ends in one of the ways in which servers fail:
 * an exit, a crash, silence, a reply that is cut, and so on. The tool `count` appends its
 * `key` to FILE.effects; it fails in the way of the number `before` first, or in that of `do`
 * afterwards.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE_BYTES = 64 * 1024,
	TEXT_BYTES = 256,
	FLOOD_LINES = 2000,
	CHANCES = 12 /* ways to fail by chance; the others only if asked for */
};

/* The raw text behind `key` in the message, up to one of `ends`. */
static bool find(const char *line, const char *key, const char *ends, char *ret_text)
{
	const char *at = strstr(line, key);
	size_t len;

	if (!at)
		return false;
	at += strlen(key);
	len = strcspn(at, ends);
	if (len >= TEXT_BYTES)
		return false;
	memcpy(ret_text, at, len);
	ret_text[len] = '\0';
	return true;
}

static void put(const char *text)
{
	size_t len = strlen(text);

	while (len) {
		ssize_t n = write(STDOUT_FILENO, text, len);

		if (n <= 0)
			_exit(1);
		text += n;
		len -= (size_t)n;
	}
}

static void reply(const char *id, const char *result)
{
	char line[4 * TEXT_BYTES];

	(void)snprintf(line, sizeof line, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id,
		       result);
	put(line);
}

static void refuse(const char *id, int code, const char *message)
{
	char line[4 * TEXT_BYTES];

	(void)snprintf(
		line, sizeof line,
		"{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":\"%s\"}}\n",
		id, code, message);
	put(line);
}

static void echo(const char *id, const char *text)
{
	char result[2 * TEXT_BYTES];

	(void)snprintf(result, sizeof result,
		       "{\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}", text);
	reply(id, result);
}

/* Ends the call in the way of this number. */
static void fail(unsigned way, const char *id, const char *text)
{
	static const char failed[] = "{\"content\":[{\"type\":\"text\",\"text\":"
				     "\"connection refused\"}],\"isError\":true}";

	switch (way) {
	case 0: _exit(42);
	case 1: (void)raise(SIGSEGV); break;
	case 2:
		put("{\"jsonrpc\":\"2.0\",\"id\":");
		put(id);
		put(",\"result\":{\"cont\n");
		break;
	case 3: echo("987654321", text); break;
	case 4:
		put("{\"jsonrpc\":\"2.0\",\"id\":");
		put(id);
		put("}\n");
		break;
	case 5: break; /* silence */
	case 6:
		(void)close(STDOUT_FILENO);
		for (;;)
			(void)pause();
	case 7: refuse(id, -32000, "rate limit exceeded, try again in 1s"); break;
	case 8: reply(id, failed); break;
	case 9:
		for (int i = 0; i < FLOOD_LINES; i++)
			(void)fprintf(stderr, "line %d of a flood\n", i);
		refuse(id, -32603, "internal error");
		break;
	case 10: /* late: its deadline is over by then */
		(void)nanosleep(&(struct timespec){ 1, 500 * 1000 * 1000 }, NULL);
		echo(id, text);
		break;
	case 12: (void)raise(SIGKILL); break;
	case 13:
		echo(id, text);
		(void)close(STDIN_FILENO);
		for (;;)
			(void)pause();
	case 14: echo(id, text); _exit(0);
	case 15:
		put("{\"jsonrpc\":\"2.0\",\"id\":");
		put(id);
		put(",\"result\":{\"cont");
		_exit(1);
	case 16:
		echo(id, text);
		echo(id, text);
		break;
	case 17:
		put("[{\"jsonrpc\":\"2.0\",\"id\":");
		put(id);
		put(",\"result\":{\"content\":[]}}]\n");
		break;
	default: put("Traceback (most recent call last):\n"); _exit(1);
	}
}

/* A side effect. */
static void append(const char *file, const char *key)
{
	char path[4 * TEXT_BYTES];
	FILE *effects;

	(void)snprintf(path, sizeof path, "%s.effects", file);
	effects = fopen(path, "ae");
	if (!effects || fprintf(effects, "%s\n", key) < 0 || fclose(effects) != 0)
		_exit(3);
}

static void count(const char *line, const char *file, const char *id)
{
	char key[TEXT_BYTES] = "";
	char way[TEXT_BYTES];

	(void)find(line, "\"key\":\"", "\"", key);
	if (find(line, "\"before\":\"", "\"", way)) {
		fail((unsigned)strtoul(way, NULL, 10), id, key);
		return;
	}
	append(file, key);
	if (find(line, "\"do\":\"", "\"", way))
		fail((unsigned)strtoul(way, NULL, 10), id, key);
	else
		echo(id, key);
}

static void take(const char *line, const char *file)
{
	static const char hello[] =
		"{\"protocolVersion\":\"2025-06-18\",\"capabilities\":{\"tools\":{}},"
		"\"serverInfo\":{\"name\":\"flaky\",\"version\":\"1\"}}";
	static const char tools[] = "{\"tools\":[{\"name\":\"echo\",\"description\":\"\","
				    "\"inputSchema\":{\"type\":\"object\"}},"
				    "{\"name\":\"count\",\"description\":\"\","
				    "\"inputSchema\":{\"type\":\"object\"}}]}";
	char id[TEXT_BYTES];
	char method[TEXT_BYTES];
	char text[TEXT_BYTES] = "";

	if (!find(line, "\"id\":", ",}", id) || !find(line, "\"method\":\"", "\"", method))
		return;
	if (strcmp(method, "initialize") == 0) {
		reply(id, hello);
	} else if (strcmp(method, "tools/list") == 0) {
		reply(id, tools);
	} else if (strcmp(method, "ping") == 0) {
		reply(id, "{}");
	} else if (strcmp(method, "tools/call") != 0) {
		refuse(id, -32601, "Method not found");
	} else if (strstr(line, "\"name\":\"count\"")) {
		count(line, file, id);
	} else {
		(void)find(line, "\"text\":\"", "\"", text);
		if (access(file, F_OK) == 0)
			fail((unsigned)rand() % CHANCES, id, text);
		else
			echo(id, text);
	}
}

int main(int argc, char **argv)
{
	static char line[LINE_BYTES];

	if (argc != 2) {
		(void)fputs("usage: flaky FILE\n", stderr);
		return 2;
	}
	(void)setrlimit(RLIMIT_CORE, &(struct rlimit){ 0, 0 });
	srand((unsigned)getpid());
	while (fgets(line, sizeof line, stdin))
		take(line, argv[1]);
	return 0;
}
