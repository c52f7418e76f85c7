/*
 * workers_beside.c - what others notice of a client whose calls crash or hang:
 * some clients call a tool in processes at a steady pace, over HTTP; alone, beside
 * one more that does the same without a pause, beside one whose calls take 300 ms and
 * succeed, beside one whose every call crashes, and beside one whose every call hangs
 * until its deadline of 300 ms. In turns; the ratio is that of one round, the result the
 * median of the rounds.
 *
 * Like is compared with like: a healthy client that does not pause keeps a processor busy
 * as one does whose calls crash, and a call of 300 ms keeps a worker as one does that
 * hangs for as long.
 *
 *   workers_beside HAZARD [ROUNDS] [SECONDS]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 4, PACE_US = 4000, CALLS_MAX = 100000, ROUNDS_MAX = 32 };
enum { ALONE, ECHO, SLOW, CRASH, HANG, KINDS };

static const struct {
	const char *name;
	const char *tool;
	const char *answer;
} kinds[KINDS] = { { "alone", NULL, NULL },
		   { "beside calls without a pause", "echo", "twelve bytes" },
		   { "beside calls of 300 ms", "slow", "done" },
		   { "beside crashes", "segv", "SIGSEGV" },
		   { "beside calls that hang", "sleep", "timeout" } };

static int port;
static atomic_bool is_over;

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "workers_beside: %s\n", what);
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(const double *values, int count)
{
	double copy[ROUNDS_MAX];

	memcpy(copy, values, (size_t)count * sizeof *copy);
	qsort(copy, (size_t)count, sizeof *copy, by_value);
	return copy[count / 2];
}

/* ---- a client ------------------------------------------------------------------- */

struct client {
	int number;
	const char *tool;
	const char *answer;
	bool is_paced;
	double *us; /* NULL: not wanted */
	int count;
	pthread_t thread;
};

static int connect_to(void)
{
	const struct sockaddr_in to = { .sin_family = AF_INET,
					.sin_port = htons((uint16_t)port),
					.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof to) != 0)
		die("connect");
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static int write_request(char *text, size_t size, const struct client *client)
{
	char body[512];
	int len =
		snprintf(body, sizeof body,
			 "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
			 "\"name\":\"%s\",\"arguments\":{\"text\":\"twelve "
			 "bytes\",\"ms\":300},\"_meta\":{"
			 "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
			 "\"io.modelcontextprotocol/clientCapabilities\":{},"
			 "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"client %d\","
			 "\"version\":\"1\"}}}}",
			 client->tool, client->number);

	return snprintf(text, size,
			"POST /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, "
			"text/event-stream\r\nContent-Type: application/json\r\n"
			"MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n"
			"Mcp-Name: %s\r\nContent-Length: %d\r\n\r\n%s",
			client->tool, len, body);
}

/* A whole response; it must hold what is wanted. */
static void read_response(int fd, const char *wanted)
{
	char text[16384];
	size_t len = 0;

	for (;;) {
		ssize_t got = read(fd, text + len, sizeof text - 1 - len);
		const char *head_end, *length;

		if (got <= 0)
			die("the connection ended");
		len += (size_t)got;
		text[len] = '\0';
		head_end = strstr(text, "\r\n\r\n");
		length = strcasestr(text, "content-length:");
		if (head_end && length &&
		    len >= (size_t)(head_end + 4 - text) + strtoul(length + 15, NULL, 10))
			break;
	}
	if (!strstr(text, wanted)) {
		(void)fprintf(stderr, "%s\n", text);
		die("not the answer that was wanted");
	}
}

static void *run_client(void *arg)
{
	struct client *client = arg;
	int fd = connect_to();
	char request[1024];
	int len = write_request(request, sizeof request, client);
	uint64_t next = now_ns() + (uint64_t)client->number * PACE_US * 1000 / CLIENTS;

	while (!atomic_load(&is_over) && client->count < CALLS_MAX) {
		uint64_t before = now_ns();

		if (client->is_paced && before < next) {
			const struct timespec pause = { 0, (long)(next - before) };

			(void)nanosleep(&pause, NULL);
			before = now_ns();
		}
		next += PACE_US * 1000;
		if (write(fd, request, (size_t)len) != len)
			die("write");
		read_response(fd, client->answer);
		if (client->us)
			client->us[client->count] = (double)(now_ns() - before) / 1000;
		client->count++;
	}
	(void)close(fd);
	return NULL;
}

struct figures {
	double p50, p99;
	int others;
};

static struct figures measure(int kind, double seconds)
{
	static double us[CLIENTS][CALLS_MAX];
	static double all[CLIENTS * CALLS_MAX];
	struct client clients[CLIENTS + 1];
	const struct timespec pause = { (time_t)seconds,
					(long)((seconds - (double)(time_t)seconds) * 1e9) };
	int count = 0;

	atomic_store(&is_over, false);
	for (int i = 0; i <= CLIENTS; i++) {
		clients[i] = (struct client){
			.number = i, .tool = "echo", .answer = "twelve bytes", .is_paced = true
		};
		if (i < CLIENTS) {
			clients[i].us = us[i];
		} else if (kind == ALONE) {
			break;
		} else {
			clients[i].tool = kinds[kind].tool;
			clients[i].answer = kinds[kind].answer;
			clients[i].is_paced = false;
		}
		if (pthread_create(&clients[i].thread, NULL, run_client, &clients[i]) != 0)
			die("a thread");
	}
	(void)nanosleep(&pause, NULL);
	atomic_store(&is_over, true);
	for (int i = 0; i < CLIENTS + (kind != ALONE); i++)
		(void)pthread_join(clients[i].thread, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		memcpy(all + count, us[i], (size_t)clients[i].count * sizeof *all);
		count += clients[i].count;
	}
	qsort(all, (size_t)count, sizeof *all, by_value);
	return (struct figures){ .p50 = all[count / 2],
				 .p99 = all[count * 99 / 100],
				 .others = kind == ALONE ? 0 : clients[CLIENTS].count };
}

/* ---- the server -------------------------------------------------------------------- */

static pid_t start(const char *hazard)
{
	char line[256];
	const char *colon;
	int err[2];
	pid_t pid;
	FILE *said;

	if (pipe(err) != 0)
		die("pipe");
	pid = fork();
	if (pid == 0) {
		(void)dup2(err[1], 2);
		(void)close(err[0]);
		(void)close(err[1]);
		(void)execl(hazard, hazard, "--http", "127.0.0.1:0", "--workers", "2",
			    "--breaker", "4294967295", (char *)NULL);
		_exit(127);
	}
	(void)close(err[1]);
	said = fdopen(err[0], "r");
	if (!said || !fgets(line, sizeof line, said) || !(colon = strrchr(line, ':')))
		die("the server does not start");
	port = atoi(colon + 1);
	return pid;
}

int main(int argc, char **argv)
{
	static double p50[KINDS][ROUNDS_MAX], p99[KINDS][ROUNDS_MAX], ratio[KINDS][ROUNDS_MAX];
	static double like[KINDS][ROUNDS_MAX];
	int rounds = argc > 2 ? atoi(argv[2]) : 7;
	double seconds = argc > 3 ? atof(argv[3]) : 2;
	int others[KINDS] = { 0 };
	pid_t server;

	if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX)
		die("usage: workers_beside HAZARD [ROUNDS] [SECONDS]");
	(void)signal(SIGPIPE, SIG_IGN);
	server = start(argv[1]);
	(void)measure(ALONE, 0.5);
	for (int r = 0; r < rounds; r++)
		for (int k = 0; k < KINDS; k++) {
			struct figures f = measure(k, seconds);

			p50[k][r] = f.p50;
			p99[k][r] = f.p99;
			ratio[k][r] = f.p99 / p99[ALONE][r];
			like[k][r] = f.p99 / p99[k == HANG ? SLOW : ECHO][r];
			others[k] += f.others;
		}
	(void)kill(server, SIGTERM);
	(void)waitpid(server, NULL, 0);
	(void)printf("%-30s %9s %9s %12s %10s\n", "echo of 4 clients, 1000/s", "p50 us",
		     "p99 us", "p99 to alone", "others/s");
	for (int k = 0; k < KINDS; k++)
		(void)printf("%-30s %9.0f %9.0f %12.2f %10.0f\n", kinds[k].name,
			     median(p50[k], rounds), median(p99[k], rounds),
			     median(ratio[k], rounds), others[k] / (rounds * seconds));
	for (int k = CRASH; k < KINDS; k++) {
		double found = median(like[k], rounds);

		(void)printf("%-64s %8.2f  goal <= 1.50  %s\n",
			     k == CRASH ? "p99 of others beside crashes, to beside calls "
					  "without a pause"
					: "p99 of others beside calls that hang, to beside "
					  "calls of 300 ms",
			     found, found <= 1.5 ? "PASS" : "MISS");
	}
	return 0;
}
