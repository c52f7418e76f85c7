/*
 * workers.c - what isolation costs: one tool, run inline, in a thread and in a
 * worker, over stdio, beside the floor: a bare round trip over a socketpair
 * between two processes, with as many bytes each way as a call and its answer
 * have. Then crashes, and more calls than workers. bench/workers calls it.
 *
 * One call at a time there is nothing that two cores could do at once: all
 * processes share one, or with "two" as the second argument may use them all.
 * In turns, a round is the floor and the three kinds; the result is the median
 * of the rounds.
 *
 *   workers HAZARD [one|two] [ROUNDS]
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CALLS = 3000, WARM = 300, ROUNDS_MAX = 32, REQUEST_BYTES = 176, REPLY_BYTES = 46 };
enum { FLOOR, INLINE, THREAD, PROCESS, KINDS };

static const char *const names[KINDS] = { "floor", "echo_inline", "echo_thread", "echo" };

struct figures {
	double rate, p50_us, p99_us, cpu_us;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static _Noreturn void die(const char *what)
{
	(void)fprintf(stderr, "workers: %s\n", what);
	exit(1);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, int count)
{
	qsort(values, (size_t)count, sizeof *values, by_value);
	return values[count / 2];
}

static struct figures figures_of(double *us, int count, uint64_t took_ns, double cpu_us)
{
	qsort(us, (size_t)count, sizeof *us, by_value);
	return (struct figures){ .rate = count * 1e9 / (double)took_ns,
				 .p50_us = us[count / 2],
				 .p99_us = us[count * 99 / 100],
				 .cpu_us = cpu_us / count };
}

/* Processor time of a process and all below it, in microseconds. */
static double cpu_of(pid_t pid)
{
	char path[64], text[1024];
	unsigned long long ns = 0;
	double sum;
	FILE *file;

	(void)snprintf(path, sizeof path, "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "r");
	if (!file)
		return 0;
	if (fscanf(file, "%llu", &ns) != 1)
		ns = 0;
	(void)fclose(file);
	sum = (double)ns / 1000;
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
	file = fopen(path, "r");
	if (!file)
		return sum;
	if (fgets(text, sizeof text, file))
		for (char *at = text; *at && *at != '\n';) {
			pid_t child = (pid_t)strtol(at, &at, 10);

			if (child > 0)
				sum += cpu_of(child);
			if (*at == ' ')
				at++;
		}
	(void)fclose(file);
	return sum;
}

/* ---- the floor --------------------------------------------------------------- */

static void read_all(int fd, char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t got = read(fd, bytes, len);

		if (got <= 0)
			die("a socket ended");
		bytes += got;
		len -= (size_t)got;
	}
}

static struct figures measure_floor(void)
{
	static double us[CALLS];
	char bytes[REQUEST_BYTES] = { 0 };
	int ends[2];
	uint64_t start = 0;
	double cpu = 0;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0)
		die("socketpair");
	child = fork();
	if (child == 0) {
		(void)close(ends[0]);
		for (;;) {
			ssize_t got = read(ends[1], bytes, sizeof bytes);

			if (got <= 0)
				_exit(0);
			if (write(ends[1], bytes, REPLY_BYTES) != REPLY_BYTES)
				_exit(1);
		}
	}
	(void)close(ends[1]);
	for (int i = -WARM; i < CALLS; i++) {
		uint64_t before = now_ns();

		if (i == 0) {
			start = before;
			cpu = cpu_of(getpid());
		}
		if (write(ends[0], bytes, REQUEST_BYTES) != REQUEST_BYTES)
			die("the floor");
		read_all(ends[0], bytes, REPLY_BYTES);
		if (i >= 0)
			us[i] = (double)(now_ns() - before) / 1000;
	}
	start = now_ns() - start;
	cpu = cpu_of(getpid()) - cpu;
	(void)close(ends[0]);
	(void)waitpid(child, NULL, 0);
	return figures_of(us, CALLS, start, cpu);
}

/* ---- the server ---------------------------------------------------------------- */

static FILE *to_server, *from_server;
static pid_t server;
static unsigned last_id;

static void start(const char *hazard, const char *count)
{
	int in[2], out[2];
	char *line = NULL;
	size_t size = 0;

	if (pipe(in) != 0 || pipe(out) != 0)
		die("pipe");
	server = fork();
	if (server == 0) {
		(void)dup2(in[0], 0);
		(void)dup2(out[1], 1);
		for (int fd = 3; fd < 16; fd++)
			(void)close(fd);
		(void)execl(hazard, hazard, "--workers", count, "--most", count, (char *)NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	to_server = fdopen(in[1], "w");
	from_server = fdopen(out[0], "r");
	(void)fprintf(to_server,
		      "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		      "\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":"
		      "{\"name\":\"workers\",\"version\":\"1\"}}}\n"
		      "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
	(void)fflush(to_server);
	if (getline(&line, &size, from_server) < 0)
		die("the server does not speak");
	free(line);
}

static void stop(void)
{
	(void)fclose(to_server);
	(void)fclose(from_server);
	(void)waitpid(server, NULL, 0);
}

static unsigned ask(const char *tool, const char *arguments)
{
	(void)fprintf(to_server,
		      "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":{"
		      "\"name\":\"%s\",\"arguments\":%s}}\n",
		      ++last_id, tool, arguments);
	return last_id;
}

/* The next answer; it must hold `text`. */
static void hear(const char *text)
{
	static char *line;
	static size_t size;

	if (getline(&line, &size, from_server) < 0)
		die("the server has gone");
	if (!strstr(line, text)) {
		(void)fprintf(stderr, "%s", line);
		die("not the answer that was wanted");
	}
}

static struct figures measure(const char *tool)
{
	static double us[CALLS];
	uint64_t start_ns = 0;
	double cpu = 0;

	for (int i = -WARM; i < CALLS; i++) {
		uint64_t before = now_ns();

		if (i == 0) {
			cpu = cpu_of(server);
			start_ns = now_ns();
		}
		(void)ask(tool, "{\"text\":\"twelve bytes\"}");
		(void)fflush(to_server);
		hear("\"text\":\"twelve bytes\"");
		if (i >= 0)
			us[i] = (double)(now_ns() - before) / 1000;
	}
	start_ns = now_ns() - start_ns;
	return figures_of(us, CALLS, start_ns, cpu_of(server) - cpu);
}

/* ---- crashes, and a crowd -------------------------------------------------------- */

/* From the call that crashes to the answer of one after it; the crash is reported when
 * its replacement is up. Each tool crashes only as often as it may before crashes are paced. */
static double measure_replacement(void)
{
	static const char *const tools[] = { "segv", "abort", "bus", "kill_self" };
	enum { TOOLS = 4, EACH = 5, TIMES = TOOLS * EACH };
	static double us[TIMES];

	for (int i = 0; i < TIMES; i++) {
		uint64_t before = now_ns();

		(void)ask(tools[i % TOOLS], "{}");
		(void)fflush(to_server);
		hear("tool process died");
		(void)ask("echo", "{\"text\":\"again\"}");
		(void)fflush(to_server);
		hear("again");
		us[i] = (double)(now_ns() - before) / 1000;
	}
	return median(us, TIMES);
}

/* 64 at once on 2 workers, each taking 5 ms: the ideal is 2.5 ms a call. */
static double measure_crowd(void)
{
	enum { CROWD = 64, IN_ALL = 320, MS = 5 };
	uint64_t before = now_ns();
	int asked = 0;

	for (; asked < CROWD; asked++)
		(void)ask("slow", "{\"ms\":5}");
	(void)fflush(to_server);
	for (int heard = 0; heard < IN_ALL; heard++) {
		hear("done");
		if (asked++ < IN_ALL) {
			(void)ask("slow", "{\"ms\":5}");
			(void)fflush(to_server);
		}
	}
	return IN_ALL * MS * 1e6 / 2 / (double)(now_ns() - before);
}

static void verdict(const char *what, double found, const char *sign, double goal, bool is_good)
{
	(void)printf("%-58s %8.2f  goal %s %.2f  %s\n", what, found, sign, goal,
		     is_good ? "PASS" : "MISS");
}

int main(int argc, char **argv)
{
	static double p50[KINDS][ROUNDS_MAX], p99[KINDS][ROUNDS_MAX], rate[KINDS][ROUNDS_MAX],
		cpu[KINDS][ROUNDS_MAX], cost[ROUNDS_MAX], cpu_cost[ROUNDS_MAX];
	int rounds = argc > 3 ? atoi(argv[3]) : 7;
	bool is_one = argc < 3 || strcmp(argv[2], "two") != 0;
	double found;
	cpu_set_t all, core;

	if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX)
		die("usage: workers HAZARD [one|two] [ROUNDS]");
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sched_getaffinity(0, sizeof all, &all);
	CPU_ZERO(&core);
	CPU_SET((size_t)(sysconf(_SC_NPROCESSORS_ONLN) - 1), &core);
	if (is_one)
		(void)sched_setaffinity(0, sizeof core, &core);
	start(argv[1], "2");
	for (int r = 0; r < rounds; r++) {
		for (int k = 0; k < KINDS; k++) {
			struct figures f = k == FLOOR ? measure_floor() : measure(names[k]);

			rate[k][r] = f.rate;
			p50[k][r] = f.p50_us;
			p99[k][r] = f.p99_us;
			cpu[k][r] = f.cpu_us;
		}
		cost[r] = (p50[PROCESS][r] - p50[INLINE][r]) / p50[FLOOR][r];
		cpu_cost[r] = (cpu[PROCESS][r] - cpu[INLINE][r]) / cpu[FLOOR][r];
	}
	stop();
	(void)printf("%-12s %10s %9s %9s %12s\n", "one at once", "calls/s", "p50 us", "p99 us",
		     "CPU us/call");
	for (int k = 0; k < KINDS; k++)
		(void)printf("%-12s %10.0f %9.1f %9.1f %12.1f\n", names[k],
			     median(rate[k], rounds), median(p50[k], rounds),
			     median(p99[k], rounds), median(cpu[k], rounds));
	(void)sched_setaffinity(0, sizeof all, &all);
	found = median(cost, rounds);
	verdict("what a worker adds to inline, in socketpair round trips", found, "<=", 1.3,
		found <= 1.3);
	found = median(cpu_cost, rounds);
	verdict("the same in processor time", found, "<=", 1.3, found <= 1.3);
	start(argv[1], "1");
	found = measure_replacement() / 1000;
	stop();
	verdict("a call that crashes, until its replacement answers, ms", found, "<", 10,
		found < 10);
	start(argv[1], "2");
	found = measure_crowd();
	stop();
	verdict("64 in flight on 2 workers, of the ideal", found, ">=", 0.8, found >= 0.8);
	return 0;
}
