/*
 * server_load.c - the load that bench/server puts on a server.
 *
 * Starts the server, says hello as a client of 2025-06-18, and calls its tool
 * `echo` or `fail`. Every text carries its call's number, and every reply is
 * looked at: its id must be one that is waited for, its text must be that call's,
 * and isError must be there for `fail` and only there. One such miss and the
 * figures are meaningless, so it is reported, and the exit status is 1.
 *
 * One at a time there is nothing that two cores could do at once, and waking the
 * other one costs ten times what is measured: so a case of one runs with client
 * and server on the server's core, and only wider ones on two.
 *
 * It is neutral: it asks for nothing that only one server has, and takes a JSON
 * body as well as an event stream. On stdio the calls that may go out at once go
 * out with one write. Over HTTP all connections share a session, are kept alive,
 * and have one call each in progress.
 *
 *   server_load stdio [option...] TOOL:IN_FLIGHT...            -- COMMAND...
 *   server_load http -p PORT [option...] TOOL:CONNECTIONS...   -- COMMAND...
 *     -n CALLS -s SECONDS   a case ends with whichever comes first
 *     -w CALLS              made before a case, not counted (with -s, a quarter of it)
 *     -c CORE -C CORE       the cores of the client and of the server
 *
 * Prints "start MS", "idle KB", then for each case "case NAME CALLS RATE P50_US
 * P99_US CPU_US RSS_KB MISSES", where CPU_US is what the server used for a call.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem, sched_setaffinity */
#endif
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	INPUT = 1 << 18,
	OUTPUT = 1 << 16,
	WIDEST = 128,     /* in flight: their requests fit a pipe, and so do the replies */
	WATCHDOG_S = 120, /* nothing here lasts as long */
};

#define CALL                                                                   \
	"{\"jsonrpc\":\"2.0\",\"id\":%u,\"method\":\"tools/call\",\"params\":" \
	"{\"name\":\"%s\",\"arguments\":{\"text\":\"%s\"}}}"

static const char hello[] =
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
	"\"protocolVersion\":\"2025-06-18\",\"capabilities\":{},"
	"\"clientInfo\":{\"name\":\"server_load\",\"version\":\"1\"}}}";
static const char ready[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}";

static struct {
	unsigned calls, warmup;
	double seconds;
	int client_core, server_core;
	uint16_t port;
} options = { 1000000, 1000, 1.0, -1, -1, 0 };

static pid_t server = -1;

__attribute__((format(printf, 1, 2))) _Noreturn static void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("server_load: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	if (server > 0)
		kill(server, SIGKILL);
	exit(2);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = { 0 };

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* ---- the server --------------------------------------------------------- */

static int to_server = -1, from_server = -1;

static void stay_on(int core)
{
	cpu_set_t set;

	if (core < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET((size_t)core, &set);
	(void)sched_setaffinity(0, sizeof(set), &set);
}

static void start_server(char **command)
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		die("no pipe: %s", strerror(errno));
	server = fork();
	if (server < 0)
		die("cannot fork: %s", strerror(errno));
	if (server == 0) {
		int silence = open("/dev/null", O_WRONLY | O_CLOEXEC);

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		stay_on(options.server_core);
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		dup2(silence, STDERR_FILENO);
		execvp(command[0], command);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	to_server = in[1];
	from_server = out[0];
}

static void stop_server(void)
{
	close(to_server);
	if (options.port)
		kill(server, SIGTERM);
	for (int i = 0; i < 400; i++) {
		if (waitpid(server, NULL, WNOHANG) == server)
			return;
		usleep(5000);
	}
	kill(server, SIGKILL);
	waitpid(server, NULL, 0);
}

static uint64_t server_cpu_ns(void)
{
	clockid_t clock;

	return clock_getcpuclockid(server, &clock) ? 0 : clock_ns(clock);
}

static long server_rss_kb(void)
{
	char path[64], line[256];
	long kb = -1;
	FILE *file;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)server);
	file = fopen(path, "r");
	if (!file)
		return -1;
	while (kb < 0 && fgets(line, sizeof(line), file))
		if (!strncmp(line, "VmRSS:", 6))
			kb = strtol(line + 6, NULL, 10);
	fclose(file);
	return kb;
}

/* ---- calls and their replies -------------------------------------------- */

/* One case: a tool, and how many calls are in progress at once. */
struct load {
	const char *tool;
	bool fails;
	unsigned width;
	unsigned limit;       /* calls to send */
	uint64_t deadline_ns; /* no more are sent after it */
	unsigned sent, answered, misses;
	unsigned first_id;
	uint64_t *sent_ns;  /* by call; 0 once it is answered */
	uint32_t *waits_ns; /* by order of the answers */
};

static unsigned next_id = 1;

static bool wants_more(const struct load *load)
{
	return load->sent < load->limit && now_ns() < load->deadline_ns;
}

static void call_text(unsigned id, char text[64])
{
	(void)snprintf(text, 64, "call %u: the quick brown fox jumps over the lazy dog", id);
}

static size_t put_call(struct load *load, char *at, size_t room)
{
	unsigned id = next_id++;
	char text[64];
	int n;

	call_text(id, text);
	n = snprintf(at, room, CALL, id, load->tool, text);
	load->sent_ns[load->sent++] = now_ns();
	return (size_t)n;
}

static bool find(const char *in, size_t len, const char *what)
{
	return memmem(in, len, what, strlen(what)) != NULL;
}

static void take_reply(struct load *load, const char *reply, size_t len)
{
	const char *at = memmem(reply, len, "\"id\":", 5);
	bool is_error = find(reply, len, "\"isError\":true");
	uint64_t now = now_ns();
	unsigned long id, call;
	char text[64];

	if (!at)
		return; /* a notification */
	id = strtoul(at + 5, NULL, 10);
	call = id - load->first_id;
	if (id < load->first_id || call >= load->sent || !load->sent_ns[call]) {
		load->misses++;
		return;
	}
	call_text((unsigned)id, text);
	if (!find(reply, len, text) || is_error != load->fails)
		load->misses++;
	load->waits_ns[load->answered++] = (uint32_t)(now - load->sent_ns[call]);
	load->sent_ns[call] = 0;
}

/* ---- stdio -------------------------------------------------------------- */

static char input[INPUT + 1];
static size_t input_len;

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die("cannot write to the server: %s", strerror(errno));
		bytes += n;
		len -= (size_t)n;
	}
}

/* Reads once and hands on the lines that are complete. */
static unsigned read_lines(struct load *load)
{
	ssize_t n = read(from_server, input + input_len, INPUT - input_len);
	size_t done = 0;
	unsigned lines = 0;
	char *end;

	if (n <= 0)
		die("the server is gone");
	input_len += (size_t)n;
	while ((end = memchr(input + done, '\n', input_len - done)) != NULL) {
		size_t len = (size_t)(end - input) - done;

		*end = '\0';
		if (load)
			take_reply(load, input + done, len);
		done += len + 1;
		lines++;
	}
	if (!done && input_len == INPUT)
		die("a line is too long");
	input_len -= done;
	memmove(input, input + done, input_len);
	return lines;
}

static void stdio_hello(void)
{
	write_all(to_server, hello, sizeof(hello) - 1);
	write_all(to_server, "\n", 1);
	while (!read_lines(NULL))
		;
	write_all(to_server, ready, sizeof(ready) - 1);
	write_all(to_server, "\n", 1);
}

static void stdio_load(struct load *load)
{
	static char output[OUTPUT];

	for (;;) {
		size_t len = 0;

		while (load->sent - load->answered < load->width && wants_more(load)) {
			len += put_call(load, output + len, sizeof(output) - len);
			output[len++] = '\n';
		}
		write_all(to_server, output, len);
		if (load->sent == load->answered)
			return;
		(void)read_lines(load);
	}
}

/* ---- http --------------------------------------------------------------- */

struct connection {
	int fd;
	char request[1024];
	size_t request_len;
	char reply[INPUT + 1];
	size_t reply_len;
};

static struct connection *connections[WIDEST];
static char session[160]; /* the header line, once there is a session */
static int epoll = -1;

static bool http_connect(struct connection *c)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(options.port) };
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = c };
	int one = 1;

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&address, sizeof(address))) {
		close(c->fd);
		return false;
	}
	(void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	(void)epoll_ctl(epoll, EPOLL_CTL_ADD, c->fd, &event);
	return true;
}

static struct connection *http_open(void)
{
	struct connection *c = calloc(1, sizeof(*c));

	if (!c)
		die("no memory");
	/* The server may not listen yet. */
	for (int i = 0; !http_connect(c); i++) {
		if (i > 20000)
			die("nothing listens on port %u", (unsigned)options.port);
		usleep(500);
	}
	return c;
}

static void http_reopen(struct connection *c)
{
	close(c->fd);
	if (!http_connect(c))
		die("cannot connect again");
}

static void http_send(struct connection *c, const char *body, size_t len)
{
	int n = snprintf(c->request, sizeof(c->request),
			 "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
			 "Content-Type: application/json\r\n"
			 "Accept: application/json, text/event-stream\r\n%s"
			 "Content-Length: %zu\r\n\r\n%.*s",
			 (unsigned)options.port, session, len, (int)len, body);

	c->request_len = (size_t)n;
	c->reply_len = 0;
	write_all(c->fd, c->request, c->request_len);
}

/* What the header `name` says in the head of a reply, or NULL. */
static const char *http_header(const char *head, const char *name)
{
	const char *at = strcasestr(head, name);

	return at ? at + strlen(name) : NULL;
}

/* The body of a reply that is complete, or NULL. */
static const char *http_body(struct connection *c, bool at_end)
{
	char *end, *body;
	const char *length, *coding;
	size_t len;
	bool is_done;

	c->reply[c->reply_len] = '\0';
	end = memmem(c->reply, c->reply_len, "\r\n\r\n", 4);
	if (!end)
		return NULL;
	body = end + 4;
	len = c->reply_len - (size_t)(body - c->reply);
	*end = '\0'; /* a head ends here */
	length = http_header(c->reply, "\r\nContent-Length:");
	coding = http_header(c->reply, "\r\nTransfer-Encoding: chunked");
	if (length)
		is_done = len >= strtoul(length, NULL, 10);
	else if (coding)
		is_done = len >= 5 && !memcmp(body + len - 5, "0\r\n\r\n", 5) &&
			  (len == 5 || body[len - 6] == '\n');
	else
		is_done = at_end || strstr(c->reply, " 202 ");
	if (!is_done)
		*end = '\r';
	return is_done ? body : NULL;
}

/* Reads once. True when a reply is there. */
static bool http_read(struct connection *c, const char **ret_body)
{
	ssize_t n = recv(c->fd, c->reply + c->reply_len, INPUT - c->reply_len, 0);
	bool closes;

	if (n <= 0 && c->reply_len == 0) {
		/* It closed a connection that was idle: once more, on a new one. */
		http_reopen(c);
		write_all(c->fd, c->request, c->request_len);
		return false;
	}
	if (n > 0)
		c->reply_len += (size_t)n;
	*ret_body = http_body(c, n <= 0);
	if (!*ret_body) {
		if (n <= 0 || c->reply_len == INPUT)
			die("a reply is cut short or too long");
		return false;
	}
	closes = n <= 0 || http_header(c->reply, "\r\nConnection: close");
	if (closes)
		http_reopen(c);
	return true;
}

static const char *http_ask(struct connection *c, const char *body)
{
	const char *reply;

	http_send(c, body, strlen(body));
	while (!http_read(c, &reply))
		;
	if (strncmp(c->reply, "HTTP/1.1 2", 10) != 0)
		die("the server refused: %.200s", c->reply);
	return reply;
}

static void http_hello(void)
{
	struct connection *c;
	const char *id;

	epoll = epoll_create1(EPOLL_CLOEXEC);
	c = connections[0] = http_open();
	(void)http_ask(c, hello);
	id = http_header(c->reply, "\r\nMcp-Session-Id: ");
	if (id)
		(void)snprintf(session, sizeof(session),
			       "Mcp-Session-Id: %.*s\r\nMCP-Protocol-Version: 2025-06-18\r\n",
			       (int)strcspn(id, "\r"), id);
	else
		(void)snprintf(session, sizeof(session),
			       "MCP-Protocol-Version: 2025-06-18\r\n");
	(void)http_ask(c, ready);
}

static void http_call(struct load *load, struct connection *c)
{
	char body[512];

	http_send(c, body, put_call(load, body, sizeof(body)));
}

static void http_load(struct load *load)
{
	struct epoll_event events[WIDEST];

	for (unsigned i = 0; i < load->width && wants_more(load); i++) {
		if (!connections[i])
			connections[i] = http_open();
		http_call(load, connections[i]);
	}
	while (load->answered < load->sent) {
		int n = epoll_wait(epoll, events, WIDEST, -1);

		for (int i = 0; i < n; i++) {
			struct connection *c = events[i].data.ptr;
			unsigned before = load->answered;
			const char *body;

			if (!http_read(c, &body))
				continue;
			take_reply(load, body, c->reply_len - (size_t)(body - c->reply));
			if (load->answered == before)
				die("no answer in a reply: %.300s", body);
			if (wants_more(load))
				http_call(load, c);
		}
	}
}

/* ---- cases --------------------------------------------------------------- */

static int by_length(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static double quantile_us(const struct load *load, double q)
{
	if (!load->answered)
		return 0;
	return load->waits_ns[(size_t)((load->answered - 1) * q)] / 1000.0;
}

static void run(struct load *load, unsigned calls, double seconds)
{
	load->sent = load->answered = 0;
	load->limit = calls;
	load->deadline_ns = now_ns() + (uint64_t)(seconds * 1e9);
	load->first_id = next_id;
	if (options.port)
		http_load(load);
	else
		stdio_load(load);
}

/* `name` is TOOL:WIDTH. */
static unsigned run_case(char *name)
{
	struct load load = { .tool = name };
	char *colon = strchr(name, ':');
	uint64_t start, spent, cpu;
	double cpu_us;
	unsigned most = options.calls > options.warmup ? options.calls : options.warmup;

	if (colon)
		load.width = (unsigned)strtoul(colon + 1, NULL, 10);
	if (load.width < 1 || load.width > WIDEST)
		die("\"%s\" is no case: TOOL:1 to TOOL:%d", name, WIDEST);
	*colon = '\0';
	load.fails = !strcmp(load.tool, "fail");
	load.sent_ns = calloc(most + 1, sizeof(*load.sent_ns));
	load.waits_ns = calloc(most + 1, sizeof(*load.waits_ns));
	if (!load.sent_ns || !load.waits_ns)
		die("no memory");
	stay_on(load.width == 1 ? options.server_core : options.client_core);
	run(&load, options.warmup, options.seconds / 4);
	cpu = server_cpu_ns();
	start = now_ns();
	run(&load, options.calls, options.seconds);
	spent = now_ns() - start;
	cpu = server_cpu_ns() - cpu;
	cpu_us = load.answered ? (double)cpu / 1000.0 / load.answered : 0;
	qsort(load.waits_ns, load.answered, sizeof(*load.waits_ns), by_length);
	printf("case %s:%u %u %.0f %.2f %.2f %.3f %ld %u\n", load.tool, load.width,
	       load.answered, load.answered / ((double)spent / 1e9), quantile_us(&load, 0.5),
	       quantile_us(&load, 0.99), cpu_us, server_rss_kb(), load.misses);
	free(load.sent_ns);
	free(load.waits_ns);
	return load.misses;
}

int main(int argc, char **argv)
{
	bool is_http = argc > 1 && !strcmp(argv[1], "http");
	unsigned misses = 0;
	uint64_t start;
	int option, cases, command;

	if (!is_http && (argc < 2 || strcmp(argv[1], "stdio") != 0))
		die("usage: server_load stdio|http [option...] TOOL:N... -- COMMAND...");
	optind = 2;
	while ((option = getopt(argc, argv, "+n:s:w:c:C:p:")) != -1) {
		switch (option) {
		case 'n': options.calls = (unsigned)strtoul(optarg, NULL, 10); break;
		case 's': options.seconds = strtod(optarg, NULL); break;
		case 'w': options.warmup = (unsigned)strtoul(optarg, NULL, 10); break;
		case 'c': options.client_core = (int)strtol(optarg, NULL, 10); break;
		case 'C': options.server_core = (int)strtol(optarg, NULL, 10); break;
		case 'p': options.port = (uint16_t)strtoul(optarg, NULL, 10); break;
		default: return 2;
		}
	}
	if (is_http != (options.port != 0))
		die("a port is for http, and http is for a port");
	/* Without a case, getopt has taken the "--": only start and idle are measured. */
	cases = strcmp(argv[optind - 1], "--") != 0 ? optind : optind - 1;
	for (command = cases; command < argc && strcmp(argv[command], "--") != 0; command++)
		;
	if (command + 1 >= argc)
		die("no command");

	signal(SIGPIPE, SIG_IGN);
	alarm(WATCHDOG_S); /* it ends us, and the end of us ends the server */
	stay_on(options.client_core);
	start = now_ns();
	start_server(argv + command + 1);
	if (is_http)
		http_hello();
	else
		stdio_hello();
	printf("start %.2f\n", (double)(now_ns() - start) / 1e6);
	usleep(50000);
	printf("idle %ld\n", server_rss_kb());
	for (int i = cases; i < command; i++)
		misses += run_case(argv[i]);
	stop_server();
	return misses ? 1 : 0;
}
