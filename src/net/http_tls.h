/*
 * http_tls.h - TLS for the HTTP transport: OpenSSL 3, loaded when a server is
 * given a certificate (base/late.h).
 *
 * The one rule to remember: read and write behave like recv and send on a
 * non-blocking socket, with errno.
 */
#ifndef FW_NET_HTTP_TLS_H
#define FW_NET_HTTP_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include <faultwire/error.h>

struct fw_http_tls;
struct ssl_st;

/* Certificate chain and key in PEM. Raises transport.tls_failed, or
 * internal.unsupported if the library is not installed. */
fw_error *fw_http_tls_new(const char *certificate, const char *key,
			  struct fw_http_tls **ret_tls);
void fw_http_tls_free(struct fw_http_tls *tls);

/* The server side of a connection; the first reads perform the handshake. NULL: no
 * memory. */
struct ssl_st *fw_http_tls_accept(struct fw_http_tls *tls, int fd);
/* 0: the peer has closed its side. -1: errno; EAGAIN: try again when the socket is
 * ready (fw_http_tls_wants_write). */
ssize_t fw_http_tls_read(struct ssl_st *ssl, char *data, size_t len);
ssize_t fw_http_tls_write(struct ssl_st *ssl, const char *data, size_t len);
/* The handshake is complete. */
bool fw_http_tls_is_up(const struct ssl_st *ssl);
/* Reading waits until the socket can be written to. */
bool fw_http_tls_wants_write(const struct ssl_st *ssl);
/* There are decrypted bytes, for which no poll event comes. */
bool fw_http_tls_has_pending(const struct ssl_st *ssl);
/* Sends close_notify. */
void fw_http_tls_end(struct ssl_st *ssl);
void fw_http_tls_drop(struct ssl_st *ssl);

#endif
