/*
 * http.c - MCP over HTTP: options, listening socket, start and stop.
 *
 * fw_server_listen_http() binds the socket, so that the port is known and an address
 * in use is an error of that call; nothing is read until the server runs. The server
 * listens on a loopback address, unless another address is given together with a
 * bearer token or a list of allowed hosts.
 */
#include "mcp/principal.h"
#include "net/http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

#include "base/mem.h"
#include "core/options.h"
#include "net/http_auth.h"
#include "net/http_conn.h"
#include "net/http_tls.h"

static const char LISTEN[] = "fw_server_listen_http";

/* ---- the end ---------------------------------------------------------------- */

void fw_http__handle_closed(struct fw_http *http)
{
	if (!--http->open_handles)
		fw_transport_closed(&http->base);
}

static void handle_closed(uv_handle_t *handle)
{
	fw_http__handle_closed(handle->data);
}

static void sweep_closed(uv_handle_t *handle)
{
	const struct fw_timer *sweep = (const struct fw_timer *)handle;

	fw_http__handle_closed(sweep->ctx);
}

uint64_t fw_http__now_ms(const struct fw_http *http)
{
	return uv_now(fw_server__loop(http->base.server));
}

static void stop_listening(struct fw_http *http)
{
	http->is_quiesced = true;
	/* Close the handle first: libuv must not poll a descriptor that is closed. */
	if (http->is_started && !uv_is_closing((uv_handle_t *)&http->acceptor))
		uv_close((uv_handle_t *)&http->acceptor, handle_closed);
	if (http->listen_fd >= 0)
		(void)close(http->listen_fd);
	http->listen_fd = -1;
}

void fw_http__stop_if_done(struct fw_http *http)
{
	if (!http->is_closing || http->answering || http->is_closed)
		return;
	http->is_closed = true;
	while (http->peers)
		fw_http__abort(http->peers);
	uv_close((uv_handle_t *)&http->ready, handle_closed);
	fw_timer_close(&http->sweep, sweep_closed);
	uv_close((uv_handle_t *)&http->flush, handle_closed);
	uv_close((uv_handle_t *)&http->retry, handle_closed);
}

static void flush_over(uv_timer_t *timer)
{
	struct fw_http *http = timer->data;

	if (http->is_closed)
		return;
	/* A peer that has not read its answer by now does not get it. */
	for (struct fw_http_conn *conn = http->peers, *next; conn; conn = next) {
		next = conn->next;
		if (conn->state == FW_HTTP_ANSWERING)
			fw_http__abort(conn);
	}
	fw_http__stop_if_done(http);
}

/* Everything is answered: write the rest, then close. */
static void http_close(struct fw_transport *transport)
{
	struct fw_http *http = (struct fw_http *)transport;

	stop_listening(http);
	http->is_closing = true;
	if (!http->is_started) {
		fw_transport_closed(transport);
		return;
	}
	uv_timer_start(&http->flush, flush_over, http->limits->flush_ms, 0);
	fw_http__stop_if_done(http);
}

/* ---- the transport ---------------------------------------------------------- */

static fw_error *http_start(struct fw_transport *transport)
{
	struct fw_http *http = (struct fw_http *)transport;
	uv_loop_t *loop = fw_server__loop(transport->server);
	int errnum = -uv_poll_init(loop, &http->acceptor, http->listen_fd);

	if (errnum)
		return fw_error_from_errno(FW_HERE, errnum, "listening socket");
	uv_idle_init(loop, &http->ready);
	fw_timer_init(loop, &http->sweep, fw_http__sweep, http);
	uv_timer_init(loop, &http->flush);
	uv_timer_init(loop, &http->retry);
	http->acceptor.data = http->ready.data = http;
	http->flush.data = http->retry.data = http;
	http->open_handles = 5;
	http->is_started = true;
	fw_http__watch_listener(http, true);
	return NULL;
}

static void http_quiesce(struct fw_transport *transport)
{
	stop_listening((struct fw_http *)transport);
}

static void http_free(struct fw_transport *transport)
{
	struct fw_http *http = (struct fw_http *)transport;

	if (http->listen_fd >= 0)
		(void)close(http->listen_fd);
	fw_http_tls_free(http->tls);
	fw__release(http->config.path);
	if (http->config.bearer_token)
		explicit_bzero(http->config.bearer_token, strlen(http->config.bearer_token));
	fw__release(http->config.bearer_token);
	fw__release(http->guard);
	fw_principal_unref(http->config.principal);
	fw__release(http->config.allowed_hosts);
	fw__release(http->config.allowed_origins);
	fw__release(http->config.metadata_url);
	fw__release(http->url);
	fw__release(http->scratch);
	fw_buf_clear(&http->head);
	fw__release(http);
}

static const char *http_url(const struct fw_transport *transport)
{
	return ((const struct fw_http *)transport)->url;
}

static size_t http_connections(const struct fw_transport *transport)
{
	return ((const struct fw_http *)transport)->peer_count;
}

static const struct fw_transport_ops TRANSPORT_OPS = {
	.start = http_start,
	.quiesce = http_quiesce,
	.close = http_close,
	.free = http_free,
	.url = http_url,
	.connections = http_connections,
};

/* ---- options ---------------------------------------------------------------- */

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

/* NULL: no memory. */
static char *join(const char *first, const char *second, const char *third)
{
	size_t cap = strlen(first) + strlen(second) + strlen(third) + 1;
	char *text = fw__allocate(cap);

	if (text)
		(void)snprintf(text, cap, "%s%s%s", first, second, third);
	return text;
}

/* Leaves *ret_copy NULL for NULL and for a list without an entry. False: no memory. */
static bool copy(char **ret_copy, const char *text)
{
	if (!text || !text[strspn(text, " \t,")])
		return true;
	*ret_copy = join(text, "", "");
	return *ret_copy != NULL;
}

static fw_error *read_address(struct fw_http *http, const char *text, uint16_t port,
			      union address *ret_address)
{
	union address address;

	memset(&address, 0, sizeof(address));
	if (!text || strcmp(text, "localhost") == 0)
		text = "127.0.0.1";
	if (inet_pton(AF_INET, text, &address.v4.sin_addr) == 1) {
		uint32_t bits = ntohl(address.v4.sin_addr.s_addr);

		address.v4.sin_family = AF_INET;
		address.v4.sin_port = htons(port);
		http->config.is_loopback = bits >> 24 == 127;
		http->config.is_wildcard = bits == INADDR_ANY;
	} else if (inet_pton(AF_INET6, text, &address.v6.sin6_addr) == 1) {
		address.v6.sin6_family = AF_INET6;
		address.v6.sin6_port = htons(port);
		http->config.is_loopback = IN6_IS_ADDR_LOOPBACK(&address.v6.sin6_addr);
		http->config.is_wildcard = IN6_IS_ADDR_UNSPECIFIED(&address.v6.sin6_addr);
	} else {
		return fw_raise_internal_api_misuse(LISTEN, "the address is not an IP address");
	}
	*ret_address = address;
	return NULL;
}

static fw_error *check_options(const struct fw_http *http, const fw_http_options *options)
{
	if (!options->tls_certificate != !options->tls_key)
		return fw_raise_internal_api_misuse(
			LISTEN, "a TLS certificate and its key go together");
	if (options->path && (options->path[0] != '/' || strpbrk(options->path, "?#% ")))
		return fw_raise_internal_api_misuse(LISTEN, "the path is not a plain path");
	if (options->bearer_token && !options->bearer_token[0])
		return fw_raise_internal_api_misuse(LISTEN, "the bearer token is empty");
	/* Without one of them, any web page that a user opens could send requests. */
	if (!http->config.is_loopback && !options->bearer_token &&
	    !fw_http__needs_token(http) && !http->config.allowed_hosts)
		return fw_raise_internal_api_misuse(LISTEN,
						    "an address that is not loopback "
						    "needs a bearer token or allowed hosts");
	return NULL;
}

static fw_error *copy_options(struct fw_http *http, const fw_http_options *options)
{
	static const char *const all_scopes[] = { "admin" };

	http->config.path = join(options->path ? options->path : "/mcp", "", "");
	if (!http->config.path ||
	    !copy(&http->config.metadata_url, options->resource_metadata_url) ||
	    !copy(&http->config.allowed_hosts, options->allowed_hosts) ||
	    !copy(&http->config.allowed_origins, options->allowed_origins))
		return fw_raise_internal_out_of_memory();
	if (options->bearer_token) {
		http->config.bearer_token = join(options->bearer_token, "", "");
		if (!http->config.bearer_token)
			return fw_raise_internal_out_of_memory();
		/* There is one token, for everything. */
		return fw_principal_new(FW_PROOF_TOKEN, "token", all_scopes, 1,
					&http->config.principal);
	}
	return NULL;
}

/* ---- the socket ------------------------------------------------------------- */

static fw_error *open_socket(union address *address, int *ret_fd)
{
	socklen_t len =
		address->any.sa_family == AF_INET ? sizeof(address->v4) : sizeof(address->v6);
	int fd = socket(address->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int errnum = errno;
	int yes = 1;

	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errnum, "listening socket");
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	/* Accepted sockets inherit this option. */
	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes));
	if (bind(fd, &address->any, len) < 0 || listen(fd, SOMAXCONN) < 0 ||
	    getsockname(fd, &address->any, &len) < 0) {
		char text[INET6_ADDRSTRLEN] = "", what[INET6_ADDRSTRLEN + 32];

		errnum = errno;
		close(fd);
		inet_ntop(address->any.sa_family,
			  address->any.sa_family == AF_INET ? (void *)&address->v4.sin_addr
							    : (void *)&address->v6.sin6_addr,
			  text, sizeof(text));
		snprintf(what, sizeof(what),
			 address->any.sa_family == AF_INET ? "%s:%u" : "[%s]:%u", text,
			 ntohs(address->v4.sin_port));
		return fw_error_from_errno(FW_HERE, errnum, what);
	}
	*ret_fd = fd;
	return NULL;
}

static char *make_url(const struct fw_http *http, const union address *address, bool is_tls)
{
	const char *scheme = is_tls ? "https" : "http";
	char text[INET6_ADDRSTRLEN], origin[INET6_ADDRSTRLEN + 32];

	if (address->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &address->v4.sin_addr, text, sizeof(text));
		(void)snprintf(origin, sizeof(origin), "%s://%s:%u", scheme, text,
			       ntohs(address->v4.sin_port));
	} else {
		inet_ntop(AF_INET6, &address->v6.sin6_addr, text, sizeof(text));
		(void)snprintf(origin, sizeof(origin), "%s://[%s]:%u", scheme, text,
			       ntohs(address->v6.sin6_port));
	}
	return join(origin, http->config.path, "");
}

/* ---- limits ------------------------------------------------------------------ */

/* The interval of the sweep: a quarter of the shortest limit, 10 ms to 1 s. */
static uint64_t sweep_ms(const struct fw_limits *limits)
{
	const uint64_t times[] = { limits->http_idle_ms,     limits->http_head_ms,
				   limits->http_body_ms,     limits->http_read_ms,
				   limits->http_patience_ms, limits->http_silence_ms };
	uint64_t ms = 1000;

	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		if (times[i] / 4 < ms)
			ms = times[i] / 4;
	return ms > 10 ? ms : 10;
}

/* Descriptors for everything but connections: logs, stores, workers. */
enum { OTHER_FILES = 128 };

/*
 * Lowers the limit on connections if there are too few descriptors: without a free
 * one, a connection could not even be accepted to be refused.
 */
static void count_connections(struct fw_http *http)
{
	unsigned wanted = (unsigned)http->limits->http_connections;
	struct rlimit files;
	unsigned most;

	http->admission.admitted_max = wanted;
	http->admission.surplus_max = FW_HTTP_SURPLUS;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 ||
	    files.rlim_cur >= wanted + 4u * FW_HTTP_SURPLUS + OTHER_FILES)
		return;
	most = (unsigned)files.rlim_cur;
	most = most > 2u * OTHER_FILES ? most - OTHER_FILES : most / 4;
	if (most / 8 < FW_HTTP_SURPLUS)
		http->admission.surplus_max = most < 8 ? 1 : most / 8;
	most = most > 5 * http->admission.surplus_max ? most - 4 * http->admission.surplus_max
						      : 1;
	if (most < wanted)
		http->admission.admitted_max = most;
}

static fw_error *listen_http(struct fw_http *http, fw_server *server,
			     const fw_http_options *options)
{
	union address address = { .any.sa_family = AF_UNSPEC };
	fw_error *err;
	int fd = -1;

	http->base.server = server;
	err = read_address(http, options->address, options->port, &address);
	if (!err)
		err = copy_options(http, options);
	if (!err)
		err = check_options(http, options);
	if (!err && options->tls_key)
		err = fw_http_tls_new(options->tls_certificate, options->tls_key, &http->tls);
	if (!err)
		err = open_socket(&address, &fd);
	if (err)
		return err;
	http->listen_fd = fd;
	http->url = make_url(http, &address, http->tls != NULL);
	http->scratch = fw__allocate(FW_HTTP_SCRATCH_BYTES);
	if (!http->url || !http->scratch)
		return fw_raise_internal_out_of_memory();
	count_connections(http);
	fw_buf_init(&http->head, FW_LIMIT_HTTP_REPLY_HEAD_BYTES);
	fw_http__set_callbacks(&http->settings);
	http->base.ops = &TRANSPORT_OPS;
	fw_transport_attach(&http->base, server);
	return NULL;
}

fw_error *fw_server_listen_http(fw_server *server, const fw_http_options *options)
{
	fw_http_options known = FW_HTTP_OPTIONS_INIT;
	const struct fw_limits *limits;
	struct fw_http *http;
	fw_error *err;

	if (!server)
		return fw_raise_internal_api_misuse(LISTEN, "there is no server");
	FW_TRY(fw_options_read(LISTEN, options, &known, sizeof(known)));
	FW_TRY(fw_llhttp_load());
	http = fw__allocate(sizeof(*http));
	if (!http)
		return fw_raise_internal_out_of_memory();
	memset(http, 0, sizeof(*http));
	http->listen_fd = -1;
	http->limits = limits = fw_server__limits(server);
	http->pace = (struct fw_http_pace){
		.idle_ms = limits->http_idle_ms,
		.head_ms = limits->http_head_ms,
		.body_ms = limits->http_body_ms,
		.patience_ms = limits->http_patience_ms,
		.silence_ms = limits->http_silence_ms,
		.read_ms = limits->http_read_ms,
		.spare_ms = limits->http_spare_ms,
		.linger_ms = FW_LIMIT_HTTP_LINGER_MS,
		.linger_silent_ms = FW_LIMIT_HTTP_LINGER_SILENT_MS,
		.sweep_ms = sweep_ms(limits),
	};
	err = listen_http(http, server, &known);
	if (err)
		http_free(&http->base);
	return err;
}
