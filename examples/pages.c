/*
 * pages.c - pages beside the MCP endpoint: notes that are written, read and deleted, an
 * answer that another thread gives, and a stream of events.
 *
 *   build/examples/pages --http 127.0.0.1:8080 [--token TOKEN]
 *   curl -d hello http://127.0.0.1:8080/notes/first
 *   curl http://127.0.0.1:8080/notes/first
 *   curl -N http://127.0.0.1:8080/ticks?count=3
 */
#include <faultwire/faultwire.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOTES = 16, NAME_BYTES = 64, NOTE_BYTES = 1024, TICK_MS = 5 };

static struct note {
	char name[NAME_BYTES];
	char text[NOTE_BYTES];
	size_t len;
} notes[NOTES];

static struct note *find(const char *name)
{
	for (size_t i = 0; i < NOTES; i++)
		if (strcmp(notes[i].name, name) == 0)
			return &notes[i];
	return NULL;
}

/* PUT and POST: who is calling is in the answer. */
static fw_error *write_note(fw_page *page, void *ctx)
{
	const char *name = fw_page_parameter(page, "name");
	struct note *note = find(name);
	size_t len = 0;
	const char *text = fw_page_body(page, &len);
	char line[256];

	(void)ctx;
	if (strlen(name) >= NAME_BYTES)
		return fw_raise_input_invalid_value("name", "a name of 63 bytes at most");
	if (!note)
		note = find("");
	if (!note)
		return fw_raise_server_overloaded(NOTES, "notes");
	(void)snprintf(note->name, sizeof note->name, "%s", name);
	memcpy(note->text, text, len);
	note->len = len;
	fw_page_status(page, 201, NULL);
	fw_page_set_header(page, "Location", fw_page_path(page));
	(void)snprintf(line, sizeof line, "kept for %s\n",
		       fw_principal_name(fw_page_principal(page)));
	fw_page_write(page, line, strlen(line));
	return NULL;
}

static fw_error *read_note(fw_page *page, void *ctx)
{
	const struct note *note = find(fw_page_parameter(page, "name"));

	(void)ctx;
	if (!note)
		return fw_raise_resource_not_found(fw_page_path(page));
	fw_page_write(page, note->text, note->len);
	return NULL;
}

static fw_error *delete_note(fw_page *page, void *ctx)
{
	struct note *note = find(fw_page_parameter(page, "name"));

	(void)ctx;
	if (!note)
		return fw_raise_resource_not_found(fw_page_path(page));
	note->name[0] = '\0';
	fw_page_status(page, 204, NULL);
	return NULL;
}

/* ---- on a thread of its own ---------------------------------------------------- */

static atomic_int open_pages; /* that were kept and are not finished */

static void nap(void)
{
	const struct timespec time = { .tv_nsec = TICK_MS * 1000000L };

	(void)nanosleep(&time, NULL);
}

static void finish(fw_page *page, fw_error *err)
{
	(void)atomic_fetch_sub(&open_pages, 1);
	fw_page_finish(page, err);
}

static void *answer_later(void *page)
{
	nap();
	fw_page_write(page, "later\n", 6);
	finish(page, NULL);
	return NULL;
}

static void *fail_later(void *page)
{
	nap();
	finish(page, fw_raise_dependency_unavailable("the example"));
	return NULL;
}

/* Until the client has gone. */
static void *wait_forever(void *page)
{
	while (!fw_page_is_gone(page))
		nap();
	finish(page, NULL);
	return NULL;
}

/* The body is how many; without one: until the client has gone. */
static void *tick(void *page)
{
	long count = strtol(fw_page_body(page, NULL), NULL, 10);

	for (long i = 1; i <= count || !count; i++) {
		char text[32];
		const fw_page_event event = { .data = text, .name = "tick" };
		fw_page_event sent = event;

		sent.len = (size_t)snprintf(text, sizeof text, "{\"n\":%ld}", i);
		if (!fw_page_send(page, &sent))
			break;
		nap();
	}
	finish(page, count < 0 ? fw_raise_dependency_unavailable("the clock") : NULL);
	return NULL;
}

/* As fast as the client reads, and faster. */
static void *flood(void *page)
{
	static char text[64 * 1024];
	const fw_page_event event = { .data = text, .len = sizeof text };

	while (!fw_page_is_gone(page))
		if (!fw_page_send(page, &event))
			nap();
	finish(page, NULL);
	return NULL;
}

/* `ctx` is the function of the thread. */
static fw_error *on_thread(fw_page *page, void *ctx)
{
	void *(*const *work)(void *) = ctx;
	pthread_attr_t attributes;
	pthread_t thread;
	int errnum;

	FW_TRY(fw_page_keep(page));
	(void)atomic_fetch_add(&open_pages, 1);
	(void)pthread_attr_init(&attributes);
	(void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	errnum = pthread_create(&thread, &attributes, *work, page);
	(void)pthread_attr_destroy(&attributes);
	if (errnum)
		finish(page, fw_error_from_errno(FW_HERE, errnum, "thread"));
	return NULL;
}

static fw_error *count_open(fw_page *page, void *ctx)
{
	char line[32];
	int len = snprintf(line, sizeof line, "%d\n", atomic_load(&open_pages));

	(void)ctx;
	fw_page_write(page, line, (size_t)len);
	return NULL;
}

/* ---- the server ------------------------------------------------------------------- */

static void *(*const threads[])(void *) = { answer_later, fail_later, wait_forever, tick,
					    flood };

static fw_error *add_routes(fw_server *server)
{
	const fw_route routes[] = {
		{ .path = "/notes/{name}",
		  .methods = FW_ROUTE_POST | FW_ROUTE_PUT,
		  .body_bytes = NOTE_BYTES,
		  .handle = write_note },
		{ .path = "/notes/{name}", .handle = read_note },
		{ .path = "/notes/{name}", .methods = FW_ROUTE_DELETE, .handle = delete_note },
		{ .path = "/later", .handle = on_thread, .ctx = (void *)&threads[0] },
		{ .path = "/broken", .handle = on_thread, .ctx = (void *)&threads[1] },
		{ .path = "/never",
		  .deadline_ms = 100,
		  .handle = on_thread,
		  .ctx = (void *)&threads[2] },
		{ .path = "/waiting", .handle = on_thread, .ctx = (void *)&threads[2] },
		{ .path = "/ticks",
		  .methods = FW_ROUTE_GET | FW_ROUTE_POST,
		  .body_bytes = 16,
		  .handle = on_thread,
		  .ctx = (void *)&threads[3] },
		{ .path = "/flood", .handle = on_thread, .ctx = (void *)&threads[4] },
		{ .path = "/open", .is_open = true, .handle = count_open },
	};

	for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
		fw_route route = routes[i];

		route.struct_size = sizeof route;
		FW_TRY(fw_server_add_route(server, &route));
	}
	return NULL;
}

static fw_error *listen_at(fw_server *server, const char *address, const char *token)
{
	const char *colon = strrchr(address, ':');
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	char host[64];

	if (!colon)
		return fw_raise_input_invalid_value("--http", "ADDRESS:PORT");
	(void)snprintf(host, sizeof host, "%.*s", (int)(colon - address), address);
	options.address = host;
	options.port = (uint16_t)strtoul(colon + 1, NULL, 10);
	options.bearer_token = token;
	return fw_server_listen_http(server, &options);
}

int main(int argc, char **argv)
{
	const fw_server_options options = {
		FW_SERVER_OPTIONS_DEFAULTS,
		.name = "pages",
		.version = "1.0.0",
	};
	const char *address = "127.0.0.1:8080", *token = NULL;
	fw_server *server = NULL;
	fw_error *err = fw_server_new(&options, &server);

	for (int i = 1; i + 1 < argc; i += 2) {
		if (strcmp(argv[i], "--http") == 0)
			address = argv[i + 1];
		else if (strcmp(argv[i], "--token") == 0)
			token = argv[i + 1];
	}
	if (!err)
		err = add_routes(server);
	if (!err)
		err = listen_at(server, address, token);
	if (!err) {
		(void)fprintf(stderr, "pages: %s\n", fw_server_url(server));
		err = fw_server_run(server);
	}
	if (err)
		(void)fprintf(stderr, "pages: %s\n", fw_error_message(err));
	fw_error_free(err);
	/* Threads finish their pages before the server is freed. */
	while (atomic_load(&open_pages))
		nap();
	fw_server_free(server);
	return 0;
}
