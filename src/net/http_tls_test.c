/*
 * http_tls_test.c - the HTTP transport with TLS, with libcurl as the client.
 */
#include "net/http_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <faultwire/faultwire.h>

static char key[4096], certificate[4096];

static void take_pem(BIO *bio, char *text, size_t cap)
{
	int len = BIO_read(bio, text, (int)cap - 1);

	assert_true(len > 0);
	text[len] = 0;
	BIO_free(bio);
}

/* A new key, and a self-signed certificate for 127.0.0.1. */
static int make_certificate(void **state)
{
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	BIO *bio = BIO_new(BIO_s_mem());
	X509 *x509 = X509_new();
	X509_EXTENSION *name;

	(void)state;
	X509_set_version(x509, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x509), 1);
	X509_gmtime_adj(X509_getm_notBefore(x509), -60);
	X509_gmtime_adj(X509_getm_notAfter(x509), 3600);
	X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_ASC,
				   (const unsigned char *)"test", -1, -1, 0);
	X509_set_issuer_name(x509, X509_get_subject_name(x509));
	name = X509V3_EXT_conf_nid(NULL, NULL, NID_subject_alt_name, "IP:127.0.0.1");
	X509_add_ext(x509, name, -1);
	X509_EXTENSION_free(name);
	X509_set_pubkey(x509, pair);
	assert_true(X509_sign(x509, pair, EVP_sha256()) > 0);
	PEM_write_bio_X509(bio, x509);
	take_pem(bio, certificate, sizeof(certificate));
	bio = BIO_new(BIO_s_mem());
	PEM_write_bio_PrivateKey(bio, pair, NULL, NULL, 0, NULL, NULL);
	take_pem(bio, key, sizeof(key));
	X509_free(x509);
	EVP_PKEY_free(pair);
	return 0;
}

struct answer {
	char text[4096];
	size_t len;
};

static size_t take_answer(char *data, size_t size, size_t count, void *ctx)
{
	struct answer *answer = ctx;

	assert_true(size * count < sizeof(answer->text) - answer->len);
	memcpy(answer->text + answer->len, data, size * count);
	answer->len += size * count;
	answer->text[answer->len] = 0;
	return size * count;
}

static CURLcode post(fw_server *server, CURLM *multi, const char *body, struct answer *answer)
{
	struct curl_slist *headers = curl_slist_append(NULL, "Content-Type: application/json");
	struct curl_blob trusted = { certificate, strlen(certificate), CURL_BLOB_COPY };
	CURL *curl = curl_easy_init();
	CURLMsg *message;
	CURLcode result;
	int running = 1, left;

	headers = curl_slist_append(headers, "Accept: application/json, text/event-stream");
	memset(answer, 0, sizeof(*answer));
	curl_easy_setopt(curl, CURLOPT_URL, fake_http(server)->url);
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_CAINFO_BLOB, &trusted);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT, 20L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take_answer);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, answer);
	curl_multi_add_handle(multi, curl);
	while (running) {
		assert_int_equal(curl_multi_perform(multi, &running), CURLM_OK);
		fake_spin(server, 1);
	}
	message = curl_multi_info_read(multi, &left);
	assert_non_null(message);
	result = message->data.result;
	curl_multi_remove_handle(multi, curl);
	curl_easy_cleanup(curl);
	curl_slist_free_all(headers);
	return result;
}

static void test_http_tls__answers_and_streams(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	CURLM *multi = curl_multi_init();
	struct answer answer;
	fw_server server;

	(void)state;
	fake_init(&server);
	options.tls_certificate = certificate;
	options.tls_key = key;
	fake_listen(&server, &options);
	assert_memory_equal(fake_http(&server)->url, "https://127.0.0.1:", 18);
	assert_int_equal(post(&server, multi, "{\"a\":1}", &answer), CURLE_OK);
	assert_string_equal(answer.text, "{\"a\":1}");
	assert_int_equal(post(&server, multi, "later", &answer), CURLE_OK);
	assert_string_equal(answer.text, "{\"late\":true}");
	assert_int_equal(post(&server, multi, "stream", &answer), CURLE_OK);
	assert_non_null(strstr(answer.text, "data: {\"n\":1}\n\n"));
	assert_non_null(strstr(answer.text, "data: {\"late\":true}\n\n"));
	/* All requests used one connection. */
	assert_int_equal(fake_http(&server)->peer_count, 1);
	curl_multi_cleanup(multi);
	fake_clear(&server);
}

static void test_http_tls__drops_clients_without_tls(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	struct fake_client client;
	fw_server server;

	(void)state;
	fake_init(&server);
	options.tls_certificate = certificate;
	options.tls_key = key;
	fake_listen(&server, &options);
	client_open(&client, &server);
	client_post(&client, NULL, "{}");
	client_expect_end(&client);
	assert_int_equal(server.received, 0);
	client_close(&client);
	fake_clear(&server);
}

static void test_http_tls__reports_why_a_key_cannot_be_used(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	fw_server server;
	fw_error *err;

	(void)state;
	fake_init(&server);
	options.tls_certificate = key;
	options.tls_key = certificate;
	err = fw_server_listen_http(&server, &options);
	assert_non_null(err);
	assert_string_equal(fw_error_name(err), "transport.tls_failed");
	assert_null(strstr(fw_error_message(err), "BEGIN"));
	fw_error_free(err);
	fake_clear(&server);
}

/* ---- by hand ------------------------------------------------------------------ */

static fw_server server;
static struct fake_client client;
static SSL_CTX *ctx;
static SSL *ssl;

static int begin(void **state)
{
	fw_http_options options = FW_HTTP_OPTIONS_INIT;
	int result;

	(void)state;
	fake_init(&server);
	options.tls_certificate = certificate;
	options.tls_key = key;
	fake_listen(&server, &options);
	client_open(&client, &server);
	fcntl(client.fd, F_SETFL, O_NONBLOCK);
	ctx = SSL_CTX_new(TLS_client_method());
	ssl = SSL_new(ctx);
	SSL_set_fd(ssl, client.fd);
	while ((result = SSL_connect(ssl)) != 1) {
		assert_int_equal(SSL_get_error(ssl, result), SSL_ERROR_WANT_READ);
		fake_spin(&server, 1);
	}
	return 0;
}

static int end(void **state)
{
	(void)state;
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	client_close(&client);
	fake_clear(&server);
	return 0;
}

static void say(const char *text, size_t len)
{
	while (len) {
		int sent = SSL_write(ssl, text, len > 16000 ? 16000 : (int)len);

		if (sent > 0) {
			text += sent;
			len -= (size_t)sent;
		} else {
			assert_int_equal(SSL_get_error(ssl, sent), SSL_ERROR_WANT_WRITE);
		}
		uv_run(&server.loop, UV_RUN_NOWAIT);
	}
}

/* Reads until `needle` has come; NULL: until the connection ends. */
static void expect(const char *needle)
{
	for (int i = 0; i < 5000; i++) {
		int got = SSL_read(ssl, client.text + client.len, 65536);

		if (got > 0)
			client.len += (size_t)got;
		client.text[client.len] = 0;
		if (needle && strstr(client.text, needle))
			return;
		if (got <= 0 && SSL_get_error(ssl, got) != SSL_ERROR_WANT_READ) {
			assert_null(needle);
			return;
		}
		fake_spin(&server, 1);
	}
	fail_msg("no \"%s\" in: %.400s", needle ? needle : "(end)", client.text);
}

#define HEAD "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

static void test_http_tls__answers_408_to_a_slow_head(void **state)
{
	(void)state;
	fake_http(&server)->pace.head_ms = 50;
	fake_http(&server)->pace.sweep_ms = 10;
	fw_timer_set(&fake_http(&server)->sweep, 10);
	say(HEAD, sizeof(HEAD) - 1);
	expect("HTTP/1.1 408 Request Timeout\r\n");
	expect("protocol.request_timeout");
	expect(NULL);
	/* By close_notify, not by a reset. */
	assert_true(SSL_get_shutdown(ssl) & SSL_RECEIVED_SHUTDOWN);
}

static void test_http_tls__refuses_malformed_requests(void **state)
{
	static const char bytes[] = "GET / HTTP/1.1\nHost: localhost\n\n";

	(void)state;
	say(bytes, sizeof(bytes) - 1);
	expect("HTTP/1.1 400 Bad Request\r\n");
	expect(NULL);
}

/* Several requests in one record: no poll event comes for the second. */
static void test_http_tls__answers_pipelined_requests_of_one_record(void **state)
{
	static const char bytes[] =
		HEAD "Content-Length: 5\r\n\r\nlater" HEAD
		     "Content-Length: 4\r\n\r\n\"b\" " HEAD "Content-Length: 3\r\n\r\n\"c\"";

	(void)state;
	say(bytes, sizeof(bytes) - 1);
	expect("\"c\"");
	assert_int_equal(server.received, 3);
	assert_non_null(strstr(client.text, "{\"late\":true}HTTP/1.1 200"));
}

static void test_http_tls__takes_large_bodies_and_sends_large_answers(void **state)
{
	static const char head[] = HEAD "Content-Length: 3000000\r\n\r\n";
	char *body = malloc(3000001);

	(void)state;
	assert_non_null(body);
	memset(body, 'z', 3000000);
	body[2999999] = 'E';
	body[3000000] = 0;
	say(head, sizeof(head) - 1);
	say(body, 3000000);
	free(body);
	expect("zE");
	assert_true(client.len > 3000000);
	client.len = 0;
	say(HEAD "Content-Length: 3\r\n\r\nbig", sizeof(HEAD) - 1 + 24);
	expect("Content-Length: 6291456\r\n");
	expect("xxx\"");
	assert_true(client.len > 6291456);
}

static void test_http_tls__a_half_closed_request_gets_its_answer(void **state)
{
	(void)state;
	say(HEAD "Content-Length: 5\r\n\r\nlater", sizeof(HEAD) - 1 + 26);
	assert_int_equal(SSL_shutdown(ssl), 0);
	shutdown(client.fd, SHUT_WR);
	expect("{\"late\":true}");
	expect(NULL);
	assert_int_equal(server.gone, 0);
}

static void test_http_tls__notices_a_client_that_disconnects(void **state)
{
	(void)state;
	say(HEAD "Content-Length: 4\r\n\r\nhold", sizeof(HEAD) - 1 + 25);
	fake_await(&server, &server.received, 1);
	SSL_shutdown(ssl);
	close(client.fd);
	client.fd = -1;
	fake_await(&server, &server.gone, 1);
}

static void test_http_tls__closes_a_connection_without_a_handshake(void **state)
{
	struct fake_client silent;

	(void)state;
	fake_http(&server)->pace.head_ms = 50;
	fake_http(&server)->pace.sweep_ms = 10;
	fw_timer_set(&fake_http(&server)->sweep, 10);
	client_open(&silent, &server);
	client_expect_end(&silent);
	assert_int_equal(silent.len, 0);
	client_close(&silent);
}

#define BY_HAND(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http_tls__answers_and_streams),
		cmocka_unit_test(test_http_tls__drops_clients_without_tls),
		cmocka_unit_test(test_http_tls__reports_why_a_key_cannot_be_used),
		BY_HAND(test_http_tls__answers_408_to_a_slow_head),
		BY_HAND(test_http_tls__refuses_malformed_requests),
		BY_HAND(test_http_tls__answers_pipelined_requests_of_one_record),
		BY_HAND(test_http_tls__takes_large_bodies_and_sends_large_answers),
		BY_HAND(test_http_tls__a_half_closed_request_gets_its_answer),
		BY_HAND(test_http_tls__notices_a_client_that_disconnects),
		BY_HAND(test_http_tls__closes_a_connection_without_a_handshake),
	};

	return cmocka_run_group_tests(tests, make_certificate, NULL);
}
