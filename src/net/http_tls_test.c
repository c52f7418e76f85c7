/*
 * http_tls_test.c - the HTTP transport with TLS, spoken to by libcurl.
 */
#include "net/http_fake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <curl/curl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <faultwire/faultwire.h>

static char key[4096], certificate[4096];

static void take_pem(BIO *bio, char *text, size_t cap)
{
	int len = BIO_read(bio, text, (int)cap - 1);

	assert_true(len > 0);
	text[len] = 0;
	BIO_free(bio);
}

/* A key of its own, and a certificate for 127.0.0.1 that it signs itself. */
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
	/* One connection for all of them. */
	assert_int_equal(fake_http(&server)->peer_count, 1);
	curl_multi_cleanup(multi);
	fake_clear(&server);
}

static void test_http_tls__drops_clients_that_speak_plainly(void **state)
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

static void test_http_tls__says_what_is_wrong_with_a_key(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_http_tls__answers_and_streams),
		cmocka_unit_test(test_http_tls__drops_clients_that_speak_plainly),
		cmocka_unit_test(test_http_tls__says_what_is_wrong_with_a_key),
	};

	return cmocka_run_group_tests(tests, make_certificate, NULL);
}
