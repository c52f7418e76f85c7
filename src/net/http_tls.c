/*
 * http_tls.c - see http_tls.h.
 *
 * OpenSSL reads and writes the socket through our own BIO: the one of OpenSSL raises
 * SIGPIPE, whose handling a library must leave to the program.
 */
#include "net/http_tls.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <faultwire/raise.h>

#include "base/late.h"
#include "base/mem.h"

#define SSL_FUNCTIONS(X)             \
	X(SSL_CTX_check_private_key) \
	X(SSL_CTX_ctrl)              \
	X(SSL_CTX_free)              \
	X(SSL_CTX_new)               \
	X(SSL_CTX_set_options)       \
	X(SSL_CTX_use_PrivateKey)    \
	X(SSL_CTX_use_certificate)   \
	X(SSL_free)                  \
	X(SSL_get_error)             \
	X(SSL_is_init_finished)      \
	X(SSL_new)                   \
	X(SSL_pending)               \
	X(SSL_read)                  \
	X(SSL_set_accept_state)      \
	X(SSL_set_bio)               \
	X(SSL_shutdown)              \
	X(SSL_want)                  \
	X(SSL_write)                 \
	X(TLS_server_method)

#define CRYPTO_FUNCTIONS(X)        \
	X(BIO_clear_flags)         \
	X(BIO_free)                \
	X(BIO_get_data)            \
	X(BIO_meth_free)           \
	X(BIO_meth_new)            \
	X(BIO_meth_set_ctrl)       \
	X(BIO_meth_set_read)       \
	X(BIO_meth_set_write)      \
	X(BIO_new)                 \
	X(BIO_new_mem_buf)         \
	X(BIO_set_data)            \
	X(BIO_set_flags)           \
	X(BIO_set_init)            \
	X(BIO_test_flags)          \
	X(ERR_clear_error)         \
	X(ERR_peek_last_error)     \
	X(ERR_reason_error_string) \
	X(EVP_PKEY_free)           \
	X(PEM_read_bio_PrivateKey) \
	X(PEM_read_bio_X509)       \
	X(X509_free)

struct fw_http_ssl {
	SSL_FUNCTIONS(FW_LATE_MEMBER)
};
struct fw_http_crypto {
	CRYPTO_FUNCTIONS(FW_LATE_MEMBER)
};
FW_LATE_DEFINE(fw_http_ssl, "libssl.so.3", SSL_FUNCTIONS);
FW_LATE_DEFINE(fw_http_crypto, "libcrypto.so.3", CRYPTO_FUNCTIONS);

struct fw_http_tls {
	SSL_CTX *ctx;
	BIO_METHOD *socket;
};

/* ---- the socket ---------------------------------------------------------------- */

static int socket_of(BIO *bio)
{
	return (int)(intptr_t)fw_http_crypto.BIO_get_data(bio);
}

static int socket_write(BIO *bio, const char *data, int len)
{
	ssize_t sent = send(socket_of(bio), data, (size_t)len, MSG_NOSIGNAL);
	int errnum = errno;

	fw_http_crypto.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (sent < 0 && (errnum == EAGAIN || errnum == EINTR))
		fw_http_crypto.BIO_set_flags(bio, BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY);
	errno = errnum;
	return (int)sent;
}

static int socket_read(BIO *bio, char *data, int len)
{
	ssize_t got = recv(socket_of(bio), data, (size_t)len, 0);
	int errnum = errno;

	fw_http_crypto.BIO_clear_flags(bio, BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY);
	if (got == 0)
		fw_http_crypto.BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
	if (got < 0 && (errnum == EAGAIN || errnum == EINTR))
		fw_http_crypto.BIO_set_flags(bio, BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY);
	errno = errnum;
	return (int)got;
}

static long socket_ctrl(BIO *bio, int what, long number, void *ptr)
{
	(void)number;
	(void)ptr;
	if (what == BIO_CTRL_EOF)
		return fw_http_crypto.BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
	return what == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
	BIO_METHOD *method = fw_http_crypto.BIO_meth_new(BIO_TYPE_SOURCE_SINK | 100, "socket");

	if (!method)
		return NULL;
	fw_http_crypto.BIO_meth_set_write(method, socket_write);
	fw_http_crypto.BIO_meth_set_read(method, socket_read);
	fw_http_crypto.BIO_meth_set_ctrl(method, socket_ctrl);
	return method;
}

/* ---- certificate and key --------------------------------------------------------- */

/* A key with a password cannot be used: there is nowhere to ask for it. */
static int no_password(char *text, int size, int is_writing, void *ctx)
{
	(void)text;
	(void)size;
	(void)is_writing;
	(void)ctx;
	return -1;
}

static bool use_certificate(SSL_CTX *ctx, const char *text)
{
	BIO *bio = fw_http_crypto.BIO_new_mem_buf(text, -1);
	X509 *one = bio ? fw_http_crypto.PEM_read_bio_X509(bio, NULL, no_password, NULL) : NULL;
	bool is_used = one && fw_http_ssl.SSL_CTX_use_certificate(ctx, one) == 1;

	fw_http_crypto.X509_free(one);
	while (is_used &&
	       (one = fw_http_crypto.PEM_read_bio_X509(bio, NULL, no_password, NULL))) {
		/* Takes ownership of the certificate if it succeeds. */
		is_used = fw_http_ssl.SSL_CTX_ctrl(ctx, SSL_CTRL_EXTRA_CHAIN_CERT, 0, one) == 1;
		if (!is_used)
			fw_http_crypto.X509_free(one);
	}
	fw_http_crypto.BIO_free(bio);
	return is_used;
}

static bool use_key(SSL_CTX *ctx, const char *text)
{
	BIO *bio = fw_http_crypto.BIO_new_mem_buf(text, -1);
	EVP_PKEY *key =
		bio ? fw_http_crypto.PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL)
		    : NULL;
	bool is_used = key && fw_http_ssl.SSL_CTX_use_PrivateKey(ctx, key) == 1 &&
		       fw_http_ssl.SSL_CTX_check_private_key(ctx) == 1;

	fw_http_crypto.EVP_PKEY_free(key);
	fw_http_crypto.BIO_free(bio);
	return is_used;
}

static fw_error *fail(const char *what)
{
	const char *reason =
		fw_http_crypto.ERR_reason_error_string(fw_http_crypto.ERR_peek_last_error());
	fw_error *err =
		fw_raise_transport_tls_failed("this server's clients", reason ? reason : what);

	fw_error_set_detail(err, what);
	fw_http_crypto.ERR_clear_error();
	return err;
}

static fw_error *load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_http_crypto_library, &why) &&
	    fw_late_load(&fw_http_ssl_library, &why))
		return NULL;
	err = fw_raise_internal_unsupported("TLS without OpenSSL 3");
	fw_error_set_hint(err, "Install the package libssl3.");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}

static fw_error *set_up(struct fw_http_tls *tls, const char *certificate, const char *key)
{
	tls->socket = make_method();
	tls->ctx = fw_http_ssl.SSL_CTX_new(fw_http_ssl.TLS_server_method());
	if (!tls->socket || !tls->ctx)
		return fw_raise_internal_out_of_memory();
	(void)fw_http_ssl.SSL_CTX_ctrl(tls->ctx, SSL_CTRL_SET_MIN_PROTO_VERSION, TLS1_2_VERSION,
				       NULL);
	(void)fw_http_ssl.SSL_CTX_ctrl(tls->ctx, SSL_CTRL_MODE,
				       SSL_MODE_ENABLE_PARTIAL_WRITE |
					       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
					       SSL_MODE_RELEASE_BUFFERS,
				       NULL);
	/* Every request has a known length, so a connection that ends without
	 * close_notify cannot truncate one unnoticed. */
	(void)fw_http_ssl.SSL_CTX_set_options(tls->ctx, SSL_OP_NO_RENEGOTIATION |
								SSL_OP_NO_COMPRESSION |
								SSL_OP_IGNORE_UNEXPECTED_EOF);
	if (!use_certificate(tls->ctx, certificate))
		return fail("the certificate cannot be used");
	if (!use_key(tls->ctx, key))
		return fail("the key cannot be used with the certificate");
	return NULL;
}

fw_error *fw_http_tls_new(const char *certificate, const char *key,
			  struct fw_http_tls **ret_tls)
{
	struct fw_http_tls *tls;
	fw_error *err;

	FW_TRY(load());
	tls = fw__allocate(sizeof(*tls));
	if (!tls)
		return fw_raise_internal_out_of_memory();
	memset(tls, 0, sizeof(*tls));
	err = set_up(tls, certificate, key);
	if (err)
		fw_http_tls_free(tls);
	else
		*ret_tls = tls;
	return err;
}

void fw_http_tls_free(struct fw_http_tls *tls)
{
	if (!tls)
		return;
	fw_http_ssl.SSL_CTX_free(tls->ctx);
	fw_http_crypto.BIO_meth_free(tls->socket);
	fw__release(tls);
}

/* ---- a connection ----------------------------------------------------------------- */

struct ssl_st *fw_http_tls_accept(struct fw_http_tls *tls, int fd)
{
	SSL *ssl = fw_http_ssl.SSL_new(tls->ctx);
	BIO *bio = ssl ? fw_http_crypto.BIO_new(tls->socket) : NULL;

	if (!bio) {
		fw_http_ssl.SSL_free(ssl);
		return NULL;
	}
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the pointer is only a number */
	fw_http_crypto.BIO_set_data(bio, (void *)(intptr_t)fd);
	fw_http_crypto.BIO_set_init(bio, 1);
	fw_http_ssl.SSL_set_bio(ssl, bio, bio);
	fw_http_ssl.SSL_set_accept_state(ssl);
	return ssl;
}

static ssize_t result(struct ssl_st *ssl, int count)
{
	int errnum = errno;
	int what;

	if (count > 0)
		return count;
	what = fw_http_ssl.SSL_get_error(ssl, count);
	fw_http_crypto.ERR_clear_error();
	if (what == SSL_ERROR_ZERO_RETURN)
		return 0;
	if (what == SSL_ERROR_WANT_READ || what == SSL_ERROR_WANT_WRITE)
		errno = EAGAIN;
	else
		errno = what == SSL_ERROR_SYSCALL && errnum && errnum != EAGAIN ? errnum
										: EPROTO;
	return -1;
}

ssize_t fw_http_tls_read(struct ssl_st *ssl, char *data, size_t len)
{
	errno = 0;
	return result(ssl,
		      fw_http_ssl.SSL_read(ssl, data, len > INT32_MAX ? INT32_MAX : (int)len));
}

ssize_t fw_http_tls_write(struct ssl_st *ssl, const char *data, size_t len)
{
	ssize_t sent;

	errno = 0;
	sent = result(ssl,
		      fw_http_ssl.SSL_write(ssl, data, len > INT32_MAX ? INT32_MAX : (int)len));
	if (sent == 0) {
		errno = EPIPE;
		return -1;
	}
	return sent;
}

bool fw_http_tls_is_up(const struct ssl_st *ssl)
{
	return fw_http_ssl.SSL_is_init_finished(ssl);
}

bool fw_http_tls_wants_write(const struct ssl_st *ssl)
{
	return fw_http_ssl.SSL_want(ssl) == SSL_WRITING;
}

bool fw_http_tls_has_pending(const struct ssl_st *ssl)
{
	return fw_http_ssl.SSL_pending(ssl) > 0;
}

void fw_http_tls_end(struct ssl_st *ssl)
{
	if (fw_http_tls_is_up(ssl))
		(void)fw_http_ssl.SSL_shutdown(ssl);
	fw_http_crypto.ERR_clear_error();
}

void fw_http_tls_drop(struct ssl_st *ssl)
{
	fw_http_ssl.SSL_free(ssl);
}
