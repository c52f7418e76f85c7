/*
 * fuzz_http.c - sends bytes to the HTTP transport: the real transport and the real
 * core in this process, over a loopback connection.
 *
 * The input is what the client sends; "\n%%\n" in it is a pause. The first byte is
 * not sent: 't' selects the endpoint that requires a token ("sesame"), any other byte
 * the open one. There is a legacy session "fuzz".
 *
 * Properties: the output is a sequence of HTTP responses, with none after one that
 * says "Connection: close"; JSON bodies and the data of events are valid JSON; when
 * the client has disconnected, no connection, call, session, error or descriptor is
 * left; the next client is served.
 */
#include "fuzz_server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../src/net/http.h"

enum {
	REPLY_BYTES = 1 << 20,
	IDLE_TURNS = 10, /* without a byte: the answer is complete */
	HEALTH_EVERY = 64,
	DIALS = 1000,
};

static struct fw_http *fuzz_open, *fuzz_guarded;
static char reply[REPLY_BYTES + 1];
static size_t reply_len;

/* ---- a client ------------------------------------------------------------------- */

static int dial_once(const struct sockaddr_in *address)
{
	const struct linger reset = { .l_onoff = 1, .l_linger = 0 };
	int one = 1;
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	MUST(fd >= 0);
	/* Free the port at once: there are many clients. */
	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
	if (connect(fd, (const void *)address, sizeof *address) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

/* The timer of the fuzzer interrupts, and a busy machine may have no free port. */
static int dial(const struct fw_http *http)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	const char *colon = strrchr(http->url, ':');
	int fd;

	address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	for (int i = 0; (fd = dial_once(&address)) < 0; i++) {
		if (i == DIALS)
			perror("connect");
		MUST(i < DIALS);
		fuzz_turn();
		(void)usleep(1000);
	}
	return fd;
}

/* Reads what is available. False: the server has closed the connection. */
static bool take(int fd, bool *ret_progress)
{
	char spare[4096];
	bool is_full = reply_len == REPLY_BYTES;
	ssize_t n = recv(fd, is_full ? spare : reply + reply_len,
			 is_full ? sizeof spare : REPLY_BYTES - reply_len, MSG_DONTWAIT);
	int error = errno;

	if (n == 0 || (n < 0 && error != EAGAIN && error != EINTR))
		return false;
	*ret_progress = n > 0;
	if (n > 0 && !is_full)
		reply_len += (size_t)n;
	return true;
}

static bool wait_quiet(int fd)
{
	for (int idle = 0; idle < IDLE_TURNS; idle++) {
		bool progress = false;

		fuzz_turn();
		if (!take(fd, &progress))
			return false;
		if (progress || fuzz_sleeping)
			idle = 0;
	}
	return true;
}

static bool put(int fd, const char *bytes, size_t len)
{
	for (int stuck = 0; len && stuck < FUZZ_TURNS; stuck++) {
		ssize_t n = send(fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL);
		int error = errno;
		bool progress;

		if (n > 0) {
			bytes += n;
			len -= (size_t)n;
			stuck = 0;
		} else if (n < 0 && error != EAGAIN && error != EINTR) {
			return false;
		}
		fuzz_turn();
		if (!take(fd, &progress))
			return false;
	}
	return true;
}

static void hang_up(int fd)
{
	(void)close(fd);
	for (int i = 0; i < FUZZ_TURNS && (fuzz_open->peer_count || fuzz_guarded->peer_count);
	     i++)
		fuzz_turn();
	MUST(fuzz_open->peer_count == 0 && fuzz_guarded->peer_count == 0);
}

/* ---- checking the answers --------------------------------------------------------------- */

static void must_be_json(const char *text, size_t len)
{
	yyjson_doc *doc = yyjson_read(text, len, 0);

	if (!doc)
		(void)fprintf(stderr, "not JSON: %.*s\n", (int)len, text);
	MUST(doc);
	yyjson_doc_free(doc);
}

/* Checks the complete events of a stream. */
static void check_events(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		if (!newline)
			return;
		if (newline - text > 6 && memcmp(text, "data: ", 6) == 0)
			must_be_json(text + 6, (size_t)(newline - text) - 6);
		MUST(newline == text || text[0] == ':' || memcmp(text, "data:", 5) == 0 ||
		     memcmp(text, "event:", 6) == 0 || memcmp(text, "id:", 3) == 0 ||
		     memcmp(text, "retry:", 6) == 0);
		text = newline + 1;
	}
}

/* Joins the chunks into `body`. False: the last one is missing. */
static bool read_chunks(const char **at, const char *end, char *body, size_t *ret_len)
{
	*ret_len = 0;
	for (;;) {
		const char *line = memmem(*at, (size_t)(end - *at), "\r\n", 2);
		size_t size;
		char *stop;

		if (!line)
			return false;
		size = strtoul(*at, &stop, 16);
		MUST(stop == line);
		if ((size_t)(end - line) < size + 4)
			return false;
		MUST(memcmp(line + 2 + size, "\r\n", 2) == 0);
		memcpy(body + *ret_len, line + 2, size);
		*ret_len += size;
		*at = line + 4 + size;
		if (size == 0)
			return true;
	}
}

static const char *find_header(const char *head, const char *end, const char *name)
{
	size_t len = strlen(name);

	while (head < end) {
		const char *line = memmem(head, (size_t)(end - head), "\r\n", 2);

		if (!line)
			return NULL;
		if ((size_t)(line - head) > len && strncasecmp(head, name, len) == 0 &&
		    head[len] == ':')
			return head + len + 1 + strspn(head + len + 1, " ");
		head = line + 2;
	}
	return NULL;
}

static void check_reply(bool is_ended)
{
	static char body[REPLY_BYTES + 1];
	const char *at = reply;
	const char *end = reply + reply_len;

	reply[reply_len] = '\0';
	while (at < end) {
		const char *head = at;
		const char *stop = memmem(at, (size_t)(end - at), "\r\n\r\n", 4);
		const char *length, *coding, *type, *connection;
		size_t len = 0;
		bool is_whole = true;
		long status;

		if ((size_t)(end - at) >= 9 && memcmp(at, "HTTP/1.", 7) != 0)
			(void)fprintf(stderr, "not HTTP: %.*s\n(in %s)\n", (int)(end - at), at,
				      reply);
		MUST((size_t)(end - at) < 9 || memcmp(at, "HTTP/1.1 ", 9) == 0 ||
		     memcmp(at, "HTTP/1.0 ", 9) == 0);
		if (!stop)
			return;
		stop += 2;
		status = strtol(at + 9, NULL, 10);
		MUST(status >= 100 && status < 600);
		length = find_header(head, stop, "Content-Length");
		coding = find_header(head, stop, "Transfer-Encoding");
		type = find_header(head, stop, "Content-Type");
		connection = find_header(head, stop, "Connection");
		MUST(!length || !coding);
		at = stop + 2;
		if (status == 100)
			continue;
		/* Every error has a media type. */
		MUST(type || status < 400);
		if (coding) {
			is_whole = read_chunks(&at, end, body, &len);
		} else if (length) {
			len = strtoul(length, NULL, 10);
			is_whole = (size_t)(end - at) >= len;
			if (is_whole) {
				memcpy(body, at, len);
				at += len;
			}
		} else {
			/* The body ends with the connection. */
			len = (size_t)(end - at);
			memcpy(body, at, len);
			at = end;
			is_whole = is_ended;
		}
		if (type && strncmp(type, "text/event-stream", 17) == 0 && (coding || !length))
			check_events(body, len);
		if (!is_whole)
			return;
		if (type && strncmp(type, "application/json", 16) == 0 && len)
			must_be_json(body, len);
		/* No answer follows one with "Connection: close". */
		MUST(!connection || at == end);
	}
}

/* ---- the target ---------------------------------------------------------------------- */

/* Counts sockets only: a sanitizer may open pipes at any time. */
static unsigned sockets(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;
	unsigned count = 0;

	while (dir && (entry = readdir(dir)) != NULL) {
		char target[16] = "";

		(void)!readlinkat(dirfd(dir), entry->d_name, target, sizeof target - 1);
		count += strncmp(target, "socket:", 7) == 0;
	}
	if (dir)
		(void)closedir(dir);
	return count;
}

static struct fw_http *listen_on(const char *token)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	struct fw_transport *transport;

	options.bearer_token = token;
	options.allowed_origins = "https://allowed.example";
	MUST(!fw_server_listen_http(fuzz_server, &options));
	for (transport = fuzz_server->transports; transport->next;)
		transport = transport->next;
	MUST(!transport->ops->start(transport));
	return (struct fw_http *)transport;
}

static void must_be_healthy(void)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int fd = dial(fuzz_open);

	reply_len = 0;
	MUST(put(fd, request, sizeof request - 1));
	(void)wait_quiet(fd);
	MUST(reply_len > 12 && memcmp(reply, "HTTP/1.1 200", 12) == 0);
	hang_up(fd);
}

static void open_session(void)
{
	struct fw_session *session;
	struct fw_exchange nobody;

	fw_exchange_init(&nobody, fuzz_server, NULL, true);
	MUST(!fw_session_new(&nobody, &session));
	(void)snprintf(session->id, sizeof session->id, "fuzz");
	session->version = FW_V_2025_11_25;
	session->is_initialized = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned runs, open_before;
	static const char pause[] = "\n%%\n";
	const char *text = (const char *)data + 1;
	size_t left = size - 1;
	bool is_open = true;
	int fd;

	if (!fuzz_server) {
		fuzz_server_open();
		fuzz_open = listen_on(NULL);
		fuzz_guarded = listen_on("sesame");
		must_be_healthy();
		open_before = sockets();
	}
	if (size < 2)
		return 0;
	open_session();
	fd = dial(data[0] == 't' ? fuzz_guarded : fuzz_open);
	reply_len = 0;
	while (left && is_open) {
		const char *stop = memmem(text, left, pause, sizeof pause - 1);
		size_t len = stop ? (size_t)(stop - text) : left;

		is_open = put(fd, text, len) && wait_quiet(fd);
		len += stop ? sizeof pause - 1 : 0;
		text += len;
		left -= len;
	}
	/* The answer to HEAD has the length of a body that is not sent. */
	if (!memmem(data, size, "HEAD", 4))
		check_reply(!is_open);
	if (is_open && shutdown(fd, SHUT_WR) == 0)
		(void)wait_quiet(fd);
	hang_up(fd);
	fuzz_server_settle();
	if (++runs % HEALTH_EVERY == 0) {
		must_be_healthy();
		MUST(sockets() == open_before);
	}
	return 0;
}
