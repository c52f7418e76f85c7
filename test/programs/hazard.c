/*
 * hazard.c - a server whose tools crash, hang, flood and send invalid data, for the
 * tests of isolated execution; and some correct tools, which must not be affected.
 *
 *   hazard [--http ADDR:PORT] [--workers N] [--most N] [--sandbox off]
 *          [--breaker N] [--breaker-ms N] [--memory-mb N] [--cpu-s N]
 *          [--log json]
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "observe/log/log.h"

/* The function that the stack trace of the crash must contain. */
__attribute__((visibility("default"), noinline)) void hazard_write_nowhere(void);
__attribute__((visibility("default"), noinline)) int hazard_dig(volatile char *above);

static void pause_ms(long ms)
{
	const struct timespec time = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&time, NULL);
}

static fw_error *echo(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *text = fw_call_string(call, "text", &len);

	(void)ctx;
	fw_call_text_n(call, text ? text : "", len);
	return NULL;
}

static fw_error *pid(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "%ld", (long)getpid());
	return NULL;
}

/* A defect: a system call gets a descriptor that is not open. */
static fw_error *defect(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return write(-1, "x", 1) < 0 ? fw_error_from_errno(FW_HERE, errno, NULL) : NULL;
}

static fw_error *slow(fw_call *call, void *ctx)
{
	(void)ctx;
	pause_ms((long)fw_call_i64(call, "ms", 100));
	fw_call_text(call, "done");
	return NULL;
}

/* ---- crashes ------------------------------------------------------------------ */

void hazard_write_nowhere(void)
{
	volatile uintptr_t address = 8;

	*(volatile int *)address = 1;
}

static fw_error *segv(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text(call, "half a result");
	hazard_write_nowhere();
	return NULL;
}

static fw_error *abort_now(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	abort();
}

/* Accesses a mapping beyond the end of its file. */
static fw_error *bus(fw_call *call, void *ctx)
{
	int fd = memfd_create("hazard", 0);
	volatile char *memory;

	(void)ctx;
	if (fd < 0)
		(void)raise(SIGBUS);
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	fw_call_textf(call, "%d", memory[0]);
	return NULL;
}

int hazard_dig(volatile char *above)
{
	volatile char room[4096];

	room[0] = above ? above[0] : 1;
	return room[0] ? hazard_dig(room) + room[0] : 0;
}

static fw_error *overflow(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_textf(call, "%d", hazard_dig(NULL));
	return NULL;
}

static fw_error *exit_now(fw_call *call, void *ctx)
{
	(void)ctx;
	exit((int)fw_call_i64(call, "status", 0));
}

static fw_error *kill_self(fw_call *call, void *ctx)
{
	(void)ctx;
	(void)raise((int)fw_call_i64(call, "signal", SIGKILL));
	pause_ms(100);
	fw_call_text(call, "alive");
	return NULL;
}

/* ---- resources ---------------------------------------------------------------- */

/* Allocates until it fails; then crashes or reports it. */
static fw_error *eat(fw_call *call, void *ctx)
{
	const size_t bite = 16 * 1024 * 1024;
	size_t eaten = 0;

	(void)ctx;
	for (; eaten < 64; eaten++) {
		char *memory = malloc(bite);

		if (!memory && fw_call_bool(call, "crash", false))
			abort();
		if (!memory)
			return fw_raise_tool_failed("no memory left");
		memset(memory, 1, bite);
	}
	fw_call_textf(call, "ate %zu", eaten);
	return NULL;
}

static fw_error *spin(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	for (volatile unsigned i = 0;; i++)
		;
	return NULL;
}

static fw_error *sleep_endlessly(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	for (;;)
		(void)pause();
	return NULL;
}

static fw_error *polite(fw_call *call, void *ctx)
{
	(void)ctx;
	for (int i = 0; i < 1000 && !fw_call_is_cancelled(call); i++)
		pause_ms(5);
	fw_call_text(call, fw_call_is_cancelled(call) ? "stopped" : "late");
	return NULL;
}

/* Starts children in sessions of their own that stay; then exits or sleeps. */
static fw_error *fork_bomb(fw_call *call, void *ctx)
{
	int made = 0;

	(void)ctx;
	for (int i = 0; i < 6; i++) {
		pid_t child = fork();

		if (child < 0) {
			fw_call_textf(call, "fork: %s after %d", fw_errno_name(errno), made);
			return NULL;
		}
		if (child == 0) {
			(void)setsid();
			continue; /* the child forks as well: 64 in all */
		}
		made++;
	}
	if (fw_call_bool(call, "crash", false))
		hazard_write_nowhere();
	for (;;)
		(void)pause();
	return NULL;
}

/* ---- invalid frames ------------------------------------------------------- */

static int find_socket(void)
{
	for (int fd = 3; fd < 64; fd++) {
		int type;
		socklen_t len = sizeof type;

		if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0)
			return fd;
	}
	return -1;
}

static fw_error *close_socket(fw_call *call, void *ctx)
{
	(void)ctx;
	(void)close(find_socket());
	pause_ms(fw_call_bool(call, "stay", true) ? 10000 : 0);
	return NULL;
}

static fw_error *garbage(fw_call *call, void *ctx)
{
	unsigned char bytes[64];
	const char *how = fw_call_string(call, "how", NULL);
	uint32_t *words = (uint32_t *)(void *)bytes;

	(void)ctx;
	memset(bytes, 0xA5, sizeof bytes);
	if (how && strcmp(how, "huge") == 0) {
		words[0] = 0x66770005;
		words[1] = 0x7FFFFFFF;
	} else if (how && strcmp(how, "operation") == 0) {
		words[0] = 0x66770005;
		words[1] = 16;
	} else if (how && strcmp(how, "half") == 0) {
		words[0] = 0x66770005;
		words[1] = 4096;
	} else if (how && strcmp(how, "empty") == 0) {
		memset(bytes, 0, sizeof bytes);
	}
	(void)send(find_socket(), bytes, sizeof bytes, MSG_NOSIGNAL);
	if (how && strcmp(how, "half") == 0)
		_exit(3);
	if (fw_call_bool(call, "stay", false))
		pause_ms(10000);
	fw_call_text(call, "unseen");
	return NULL;
}

/* Sends valid frames without an operation as fast as it can. The number of its run is in
 * the frame of an operation, which is caught in a pipe. */
static fw_error *flood(fw_call *call, void *ctx)
{
	enum { HEADER = 16, FRAMES = 65536 };
	char *frames = calloc(FRAMES, HEADER);
	int socket = find_socket();
	int kept = dup(socket);
	int ends[2];

	(void)ctx;
	if (!frames || pipe(ends) != 0 || dup2(ends[1], socket) < 0)
		abort();
	fw_call_close_stream(call, 1000);
	if (read(ends[0], frames, HEADER) != HEADER || dup2(kept, socket) < 0)
		abort();
	memset(frames + 4, 0, 4); /* its length */
	for (size_t i = 1; i < FRAMES; i++)
		memcpy(frames + i * HEADER, frames, HEADER);
	while (write(socket, frames, (size_t)FRAMES * HEADER) > 0)
		;
	_exit(4);
}

static fw_error *print(fw_call *call, void *ctx)
{
	(void)ctx;
	(void)printf("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
	(void)fflush(stdout);
	fw_call_textf(call, "read %d", getchar());
	return NULL;
}

/* ---- results that cannot be sent -------------------------------------------------- */

static fw_error *nothing(fw_call *call, void *ctx)
{
	(void)call;
	(void)ctx;
	return NULL;
}

static fw_error *invalid(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_structured(call, "{\"total\":\"many\"}", 16);
	return NULL;
}

static fw_error *no_json(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_structured(call, "{\"total\":", 9);
	return NULL;
}

static fw_error *deep(fw_call *call, void *ctx)
{
	char json[2 * 200 + 1];

	(void)ctx;
	memset(json, '[', 200);
	memset(json + 200, ']', 200);
	json[400] = '\0';
	fw_call_structured(call, json, 400);
	return NULL;
}

static fw_error *large(fw_call *call, void *ctx)
{
	size_t size = (size_t)fw_call_i64(call, "mib", 9) * 1024 * 1024;
	char *text = malloc(size);

	(void)ctx;
	if (!text)
		return fw_raise_internal_out_of_memory();
	memset(text, 'x', size);
	fw_call_text_n(call, text, size);
	free(text);
	return NULL;
}

static fw_error *not_text(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_text_n(call, "ab\xff", 3);
	return NULL;
}

/* ---- what is passed between server and worker -------------------------------------------------------- */

static fw_error *fail(fw_call *call, void *ctx)
{
	fw_error *err = fw_raise_file_not_found(fw_call_string(call, "path", NULL));

	(void)ctx;
	fw_error_add_i64(err, "tries", 3);
	fw_error_set_detail(err, "for the operator");
	return fw_error_wrap(err, FW_HERE, "reading the file");
}

/* Reports progress, then waits `ms`, and until the file `until` exists: a client that
 * reads progress and result at once may drop the progress. */
static fw_error *tell(fw_call *call, void *ctx)
{
	const char *until = fw_call_string(call, "until", NULL);

	(void)ctx;
	fw_call_text(call, "before");
	fw_call_progress(call, 1, 2, "half");
	fw_call_log(call, FW_LOG_WARNING, "hazard", "on the way");
	fw_call_progress(call, 2, 2, NULL);
	pause_ms((long)fw_call_i64(call, "ms", 0));
	while (until && access(until, F_OK) != 0)
		pause_ms(5);
	fw_call_textf(call, "%s %s %d", fw_call_name(call), fw_call_protocol(call),
		      fw_call_client_can(call, "elicitation"));
	return NULL;
}

/* Asks a question when the caller may be gone already. */
static fw_error *ask_late(fw_call *call, void *ctx)
{
	bool can;

	(void)ctx;
	pause_ms((long)fw_call_i64(call, "ms", 0));
	can = fw_call_client_can(call, "elicitation");
	fw_call_log(call, FW_LOG_EMERGENCY, "hazard", "late");
	fw_call_progress(call, 1, 1, NULL);
	fw_call_close_stream(call, 1000);
	(void)fprintf(stderr, "asked late: %d %s %s\n", can, fw_call_name(call),
		      fw_call_protocol(call));
	fw_call_textf(call, "%d", can);
	return NULL;
}

static fw_error *ask(fw_call *call, void *ctx)
{
	const char *first = fw_call_ask(call, "first", "elicitation/create",
					"{\"message\":\"Your name?\",\"requestedSchema\":"
					"{\"type\":\"object\",\"properties\":{\"name\":"
					"{\"type\":\"string\"}}}}");

	(void)ctx;
	if (!first)
		return NULL;
	fw_call_textf(call, "%s", fw_call_answer(call, "first", "/content/name"));
	return NULL;
}

static fw_error *arguments(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *json = fw_call_json(call, NULL, &len);

	(void)ctx;
	fw_call_text_n(call, json, len);
	fw_call_textf(call, "%lld %g %d %d", (long long)fw_call_i64(call, "i", -1),
		      fw_call_f64(call, "f", -1), fw_call_bool(call, "b", false),
		      fw_call_has(call, "none"));
	return NULL;
}

static fw_error *count(fw_call *call, void *ctx)
{
	size_t len = 0;
	const char *text = fw_call_state(call, &len);
	char next[32];

	(void)ctx;
	(void)snprintf(next, sizeof next, "%ld", strtol(text, NULL, 10) + 1);
	fw_call_set_state(call, next, strlen(next));
	if (fw_call_bool(call, "crash", false))
		hazard_write_nowhere();
	if (fw_call_bool(call, "fail", false))
		return fw_raise_tool_failed("counted all the same");
	fw_call_text(call, next);
	return NULL;
}

/* ---- the server -------------------------------------------------------------------------- */

static const struct {
	const char *name;
	fw_handler *handler;
	fw_run run;
	uint32_t deadline_ms;
	const char *output_schema;
} tools[] = {
	{ "echo_inline", echo, FW_RUN_INLINE, 0, NULL },
	{ "echo_thread", echo, FW_RUN_THREAD, 0, NULL },
	{ "echo", echo, FW_RUN_PROCESS, 0, NULL },
	{ "pid", pid, FW_RUN_PROCESS, 0, NULL },
	{ "slow", slow, FW_RUN_PROCESS, 0, NULL },
	{ "defect", defect, FW_RUN_PROCESS, 0, NULL },
	{ "segv", segv, FW_RUN_PROCESS, 0, NULL },
	{ "abort", abort_now, FW_RUN_PROCESS, 0, NULL },
	{ "bus", bus, FW_RUN_PROCESS, 0, NULL },
	{ "overflow", overflow, FW_RUN_PROCESS, 0, NULL },
	{ "exit", exit_now, FW_RUN_PROCESS, 0, NULL },
	{ "kill_self", kill_self, FW_RUN_PROCESS, 0, NULL },
	{ "eat", eat, FW_RUN_PROCESS, 0, NULL },
	{ "spin", spin, FW_RUN_PROCESS, 300, NULL },
	{ "burn", spin, FW_RUN_PROCESS, 0, NULL },
	{ "sleep", sleep_endlessly, FW_RUN_PROCESS, 300, NULL },
	{ "deaf", sleep_endlessly, FW_RUN_PROCESS, 0, NULL },
	{ "polite", polite, FW_RUN_PROCESS, 0, NULL },
	{ "polite_late", polite, FW_RUN_PROCESS, 300, NULL },
	{ "fork_bomb", fork_bomb, FW_RUN_PROCESS, 500, NULL },
	{ "fork_bomb_free", fork_bomb, FW_RUN_PROCESS, 500, NULL },
	{ "close_socket", close_socket, FW_RUN_PROCESS, 0, NULL },
	{ "garbage", garbage, FW_RUN_PROCESS, 0, NULL },
	{ "flood", flood, FW_RUN_PROCESS, 300, NULL },
	{ "print", print, FW_RUN_PROCESS, 0, NULL },
	{ "nothing", nothing, FW_RUN_PROCESS, 0, NULL },
	{ "invalid", invalid, FW_RUN_PROCESS, 0,
	  "{\"type\":\"object\",\"properties\":{\"total\":{\"type\":\"integer\"}}}" },
	{ "no_json", no_json, FW_RUN_PROCESS, 0, NULL },
	{ "deep", deep, FW_RUN_PROCESS, 0, NULL },
	{ "deep_inline", deep, FW_RUN_INLINE, 0, NULL },
	{ "large", large, FW_RUN_PROCESS, 0, NULL },
	{ "not_text", not_text, FW_RUN_PROCESS, 0, NULL },
	{ "fail", fail, FW_RUN_PROCESS, 0, NULL },
	{ "fail_inline", fail, FW_RUN_INLINE, 0, NULL },
	{ "tell", tell, FW_RUN_PROCESS, 0, NULL },
	{ "ask", ask, FW_RUN_PROCESS, 0, NULL },
	{ "ask_late", ask_late, FW_RUN_THREAD, 0, NULL },
	{ "ask_too_late", ask_late, FW_RUN_THREAD, 50, NULL },
	{ "arguments", arguments, FW_RUN_PROCESS, 0, NULL },
	{ "arguments_inline", arguments, FW_RUN_INLINE, 0, NULL },
	{ "count", count, FW_RUN_PROCESS, 0, NULL },
	{ "count_inline", count, FW_RUN_INLINE, 0, NULL },
	{ "count_thread", count, FW_RUN_THREAD, 0, NULL },
};

static fw_error *read_note(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_resource_text(call, fw_call_name(call), "text/plain", "from a worker");
	return NULL;
}

static fw_error *greet(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_role(call, "assistant");
	fw_call_textf(call, "hello %s", fw_call_string(call, "who", NULL));
	fw_call_description(call, "a greeting");
	return NULL;
}

static fw_error *complete_who(fw_call *call, void *ctx)
{
	(void)ctx;
	fw_call_value(call, "world");
	fw_call_value(call, fw_call_string(call, "value", NULL));
	return NULL;
}

static fw_error *add_others(fw_server *server)
{
	static const fw_prompt_argument who = { .name = "who", .required = true };
	const fw_resource note = { .struct_size = sizeof(fw_resource),
				   .uri = "hazard://note",
				   .name = "note",
				   .handler = read_note,
				   .run = FW_RUN_PROCESS };
	const fw_prompt hello = { .struct_size = sizeof(fw_prompt),
				  .name = "greet",
				  .arguments = &who,
				  .argument_count = 1,
				  .handler = greet,
				  .complete = complete_who,
				  .run = FW_RUN_PROCESS };

	FW_TRY(fw_server_add_resource(server, &note));
	return fw_server_add_prompt(server, &hello);
}

struct options {
	const char *http;
	fw_workers_options workers;
	bool logs; /* on standard error */
};

static fw_error *add_tools(fw_server *server, const struct options *options)
{
	fw_workers_options free_options = options->workers;
	fw_workers *pool = NULL;
	fw_workers *free_pool = NULL;
	fw_state *state = NULL;

	free_options.may_execute = true;
	free_options.count = 1;
	free_options.most = 1;
	FW_TRY(fw_server_add_workers(server, &options->workers, &pool));
	FW_TRY(fw_server_add_workers(server, &free_options, &free_pool));
	FW_TRY(fw_server_add_state(server, "0", 1, &state));
	for (size_t i = 0; i < sizeof tools / sizeof *tools; i++) {
		fw_tool tool = FW_TOOL_INIT;

		tool.name = tools[i].name;
		tool.handler = tools[i].handler;
		tool.run = tools[i].run;
		tool.deadline_ms = tools[i].deadline_ms;
		tool.output_schema = tools[i].output_schema;
		tool.workers = strcmp(tool.name, "fork_bomb_free") == 0 ? free_pool : pool;
		if (strncmp(tool.name, "count", 5) == 0)
			tool.state = state;
		/* Shows its arguments unchanged, NULs included. */
		tool.checks_arguments = strncmp(tool.name, "arguments", 9) == 0;
		FW_TRY(fw_server_add_tool(server, &tool));
	}
	return add_others(server);
}

static bool read_options(int argc, char **argv, struct options *options)
{
	for (int i = 1; i + 1 < argc; i += 2) {
		const char *value = argv[i + 1];
		unsigned long number = strtoul(value, NULL, 10);

		if (strcmp(argv[i], "--http") == 0)
			options->http = value;
		else if (strcmp(argv[i], "--workers") == 0)
			options->workers.count = (uint32_t)number;
		else if (strcmp(argv[i], "--most") == 0)
			options->workers.most = (uint32_t)number;
		else if (strcmp(argv[i], "--sandbox") == 0)
			options->workers.sandbox = FW_SANDBOX_OFF;
		else if (strcmp(argv[i], "--breaker") == 0)
			options->workers.breaker_crashes = (uint32_t)number;
		else if (strcmp(argv[i], "--breaker-ms") == 0)
			options->workers.breaker_ms = (uint32_t)number;
		else if (strcmp(argv[i], "--memory-mb") == 0)
			options->workers.memory_bytes = number * 1024 * 1024;
		else if (strcmp(argv[i], "--cpu-s") == 0)
			options->workers.cpu_s = (uint32_t)number;
		else if (strcmp(argv[i], "--log") == 0)
			options->logs = true;
		else
			return false;
	}
	return argc % 2 == 1;
}

static fw_error *serve(const struct options *options, fw_server **ret_server)
{
	fw_server_options server = FW_SERVER_OPTIONS_INIT;
	fw_http_options http = FW_HTTP_OPTIONS_INIT;

	server.name = "hazard";
	server.version = "1";
	server.debug_stack = getenv("DEBUG_STACK") != NULL;
	FW_TRY(fw_server_new(&server, ret_server));
	if (options->logs)
		FW_TRY(fw_log_start(&(struct fw_log_options){ .form = FW_LOG_JSON, .fd = 2 }));
	FW_TRY(add_tools(*ret_server, options));
	if (options->http) {
		const char *colon = strrchr(options->http, ':');

		http.port = (uint16_t)strtoul(colon ? colon + 1 : "0", NULL, 10);
		FW_TRY(fw_server_listen_http(*ret_server, &http));
		(void)fprintf(stderr, "listening on %s\n", fw_server_url(*ret_server));
	} else {
		FW_TRY(fw_server_listen_stdio(*ret_server));
	}
	return fw_server_run(*ret_server);
}

int main(int argc, char **argv)
{
	struct options options = { NULL, FW_WORKERS_INIT, false };
	fw_server *server = NULL;
	fw_error *err;

	options.workers.breaker_crashes = UINT32_MAX;
	if (!read_options(argc, argv, &options)) {
		(void)fprintf(stderr, "hazard: unknown option\n");
		return 2;
	}
	err = serve(&options, &server);
	if (err)
		(void)fprintf(stderr, "hazard: %s\n", fw_error_message(err));
	fw_server_free(server);
	fw_log_stop();
	if (err) {
		fw_error_free(err);
		return 1;
	}
	return 0;
}
