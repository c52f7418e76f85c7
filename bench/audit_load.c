/*
 * audit_load.c - the load that bench/audit puts on a server with an audit log,
 * and on the log itself.
 *
 *   audit_load disk FILE SECONDS           a line, then fdatasync, one at a time
 *   audit_load calls WIDTH RATE PERCENT SECONDS -- COMMAND...
 *       calls over stdio, WIDTH at once, at most RATE a second (0: as many as
 *       can be), a percentage of them failing
 *   audit_load fill FILE BYTES             a log of this size, unsynced
 *   audit_load run COMMAND...              how long it took, and its memory
 *
 * Prints "RATE P50_US P95_US P99_US" of the failures, then of the successes.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "observe/audit/audit.h"

#include <faultwire/faultwire.h>

enum { MOST = 4000000, INPUT = 1 << 20, WARM_MS = 200, WIDTH_MOST = 1024, CALL_BYTES = 256 };

static uint64_t now_ns(void)
{
	struct timespec t = { 0 };

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000U + (uint64_t)t.tv_nsec;
}

_Noreturn static void die(const char *what)
{
	(void)fprintf(stderr, "audit_load: %s: %s\n", what, strerror(errno));
	exit(1);
}

/* ---- figures ------------------------------------------------------------ */

struct waits {
	uint32_t *ns;
	size_t count;
};

static void waits_new(struct waits *waits)
{
	waits->ns = malloc(MOST * sizeof *waits->ns);
	waits->count = 0;
	if (!waits->ns)
		die("memory");
}

static void waits_add(struct waits *waits, uint64_t ns)
{
	if (waits->count < MOST)
		waits->ns[waits->count++] = ns > UINT32_MAX ? UINT32_MAX : (uint32_t)ns;
}

static int compare(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static void waits_print(struct waits *waits, double seconds)
{
	static const double parts[] = { 0.5, 0.95, 0.99 };

	if (!waits->count) {
		printf("0 0 0 0\n");
		return;
	}
	qsort(waits->ns, waits->count, sizeof *waits->ns, compare);
	printf("%.0f", (double)waits->count / seconds);
	for (size_t i = 0; i < 3; i++)
		printf(" %.1f",
		       waits->ns[(size_t)((double)(waits->count - 1) * parts[i])] / 1e3);
	printf("\n");
}

/* ---- the disk ----------------------------------------------------------- */

static void measure_disk(const char *path, double seconds)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	uint64_t start = now_ns(), end = start + (uint64_t)(seconds * 1e9);
	struct waits waits;
	char line[600];

	if (fd < 0)
		die(path);
	memset(line, 'x', sizeof line);
	waits_new(&waits);
	while (now_ns() < end) {
		uint64_t before = now_ns();

		if (write(fd, line, sizeof line) != sizeof line || fdatasync(fd) != 0)
			die("fdatasync");
		waits_add(&waits, now_ns() - before);
	}
	waits_print(&waits, (double)(now_ns() - start) / 1e9);
	(void)close(fd);
}

/* ---- calls -------------------------------------------------------------- */

static int to_server = -1, from_server = -1;
static pid_t server;

static void start_server(char **command)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("pipe");
	server = fork();
	if (server == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execvp(command[0], command);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	to_server = in[1];
	from_server = out[0];
}

static void send_text(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t n = write(to_server, text, len);

		if (n < 0)
			die("the server does not read");
		text += n;
		len -= (size_t)n;
	}
}

struct calls {
	unsigned width, rate, percent;
	uint64_t *sent_ns; /* by id */
	unsigned sent, answered;
	uint64_t counted_from_ns;
	struct waits failures, successes;
};

/* Adds a call to `text`, and returns the new length. */
static size_t put_call(struct calls *calls, char *text, size_t len, bool fails)
{
	unsigned id = calls->sent++;

	calls->sent_ns[id] = now_ns();
	return len + (size_t)snprintf(
			     text + len, CALL_BYTES,
			     "{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\","
			     "\"params\":{\"name\":\"%s\",\"arguments\":{\"text\":\"t%u\"}}}\n",
			     id, fails ? "fail" : "echo", id);
}

/* All calls that are due, in one write: those of clients that call at the same time. */
static void send_due(struct calls *calls, unsigned due)
{
	static char text[WIDTH_MOST * CALL_BYTES];
	size_t len = 0;

	/* Spread over the time, and not in one heap: 10 % is each tenth. */
	while (calls->sent - calls->answered < calls->width && calls->sent <= due &&
	       calls->sent < MOST - 1)
		len = put_call(calls, text, len,
			       (uint64_t)calls->sent * calls->percent % 100 < calls->percent);
	send_text(text, len);
}

static void take_reply(struct calls *calls, char *line)
{
	char *id_text = strstr(line, "\"id\":");
	unsigned long id = id_text ? strtoul(id_text + 5, NULL, 10) : MOST;
	uint64_t now = now_ns();

	if (id >= calls->sent || !calls->sent_ns[id]) {
		(void)fprintf(stderr, "audit_load: no reply to a call: %.200s\n", line);
		exit(1);
	}
	if (calls->sent_ns[id] >= calls->counted_from_ns) {
		bool fails = strstr(line, "\"isError\":true") != NULL;

		if (fails && !strstr(line, "file.not_found")) {
			(void)fprintf(stderr, "audit_load: another failure: %.400s\n", line);
			exit(1);
		}
		waits_add(fails ? &calls->failures : &calls->successes,
			  now - calls->sent_ns[id]);
	}
	calls->sent_ns[id] = 0;
	calls->answered++;
}

static void read_replies(struct calls *calls, int timeout_us)
{
	static char input[INPUT + 1];
	static size_t held;
	struct pollfd wait = { .fd = from_server, .events = POLLIN };
	const struct timespec timeout = { .tv_nsec = timeout_us * 1000L };
	char *at = input, *newline;
	ssize_t n;

	if (ppoll(&wait, 1, &timeout, NULL) <= 0)
		return;
	n = read(from_server, input + held, INPUT - held);
	if (n <= 0)
		die("the server is gone");
	held += (size_t)n;
	while ((newline = memchr(at, '\n', held - (size_t)(at - input)))) {
		*newline = '\0';
		take_reply(calls, at);
		at = newline + 1;
	}
	held -= (size_t)(at - input);
	memmove(input, at, held);
}

static void measure_calls(struct calls *calls, double seconds, char **command)
{
	static const char hello[] =
		"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
		"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{"
		"\"name\":\"audit_load\",\"version\":\"1\"}}}\n"
		"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";
	uint64_t start, end;

	calls->sent_ns = calloc(MOST, sizeof *calls->sent_ns);
	waits_new(&calls->failures);
	waits_new(&calls->successes);
	start_server(command);
	calls->sent_ns[0] = 1;
	calls->sent = 1;
	calls->counted_from_ns = UINT64_MAX;
	send_text(hello, sizeof hello - 1);
	while (calls->answered < 1)
		read_replies(calls, 100000);
	start = now_ns();
	calls->counted_from_ns = start + (uint64_t)WARM_MS * 1000000U;
	end = calls->counted_from_ns + (uint64_t)(seconds * 1e9);
	while (now_ns() < end && calls->sent < MOST - 1) {
		send_due(calls, calls->rate ? (unsigned)((now_ns() - start) * calls->rate /
							 1000000000U)
					    : MOST);
		read_replies(calls, calls->rate ? 100 : 10000);
	}
	while (calls->answered < calls->sent)
		read_replies(calls, 10000);
	waits_print(&calls->failures, (double)(now_ns() - calls->counted_from_ns) / 1e9);
	waits_print(&calls->successes, (double)(now_ns() - calls->counted_from_ns) / 1e9);
	(void)close(to_server);
	(void)waitpid(server, NULL, 0);
}

/* ---- a log -------------------------------------------------------------- */

static void fill(const char *path, uint64_t bytes)
{
	const struct fw_audit_options options = { .sync = FW_AUDIT_SYNC_OFF,
						  .rotate_bytes = UINT64_MAX };
	struct fw_audit *audit = NULL;
	fw_error *failed = fw_raise_file_not_found("src/main.c");
	struct fw_audit_record record = { .error = failed, .tool_name = "read_file" };
	fw_error *err = fw_audit_open(path, &options, &audit);
	struct stat info = { .st_size = 0 };

	record.args = "{\"path\":\"src/main.c\"}";
	record.args_len = strlen(record.args);
	fw_error_set_incident_id(failed, "inc_20261116_ia7pagyrqvhoci2hkazz4kdgvs");
	while (!err && (uint64_t)info.st_size < bytes) {
		for (int i = 0; i < 1000 && !err; i++)
			err = fw_audit_append(audit, &record, NULL, NULL);
		if (!err)
			err = fw_audit_append_wait(audit, &record);
		(void)stat(path, &info);
	}
	if (err)
		(void)fprintf(stderr, "audit_load: %s\n", fw_error_message(err));
	fw_error_free(failed);
	(void)fw_audit_close(audit);
	if (err)
		exit(1);
}

static void run(char **command)
{
	uint64_t start = now_ns();
	struct rusage used;
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		int silence = open("/dev/null", O_WRONLY);

		(void)dup2(silence, STDOUT_FILENO);
		(void)execvp(command[0], command);
		_exit(127);
	}
	if (wait4(child, &status, 0, &used) != child || status != 0)
		die(command[0]);
	printf("%.3f %ld\n", (double)(now_ns() - start) / 1e9, used.ru_maxrss);
}

int main(int argc, char **argv)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (argc == 4 && strcmp(argv[1], "disk") == 0) {
		measure_disk(argv[2], strtod(argv[3], NULL));
	} else if (argc > 7 && strcmp(argv[1], "calls") == 0) {
		static struct calls calls;

		calls.width = (unsigned)strtoul(argv[2], NULL, 10);
		calls.rate = (unsigned)strtoul(argv[3], NULL, 10);
		calls.percent = (unsigned)strtoul(argv[4], NULL, 10);
		if (calls.width > WIDTH_MOST) {
			errno = EINVAL;
			die("width");
		}
		measure_calls(&calls, strtod(argv[5], NULL), argv + 7);
	} else if (argc == 4 && strcmp(argv[1], "fill") == 0) {
		fill(argv[2], strtoull(argv[3], NULL, 10));
	} else if (argc > 2 && strcmp(argv[1], "run") == 0) {
		run(argv + 2);
	} else {
		return 2;
	}
	return 0;
}
