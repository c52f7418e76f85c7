/*
 * raw_test.c - errors made from errno, HTTP, signals, libcurl, strings and JSON.
 */
#include <faultwire/faultwire.h>

#include <curl/curl.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "test/memory.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static int no_error_is_left(void **state)
{
	(void)state;
	assert_int_equal(fw_error_live(), 0);
	return 0;
}

static fw_cause first_cause(const fw_error *err)
{
	fw_cause cause;

	assert_true(fw_error_cause(err, 0, &cause));
	return cause;
}

/* ---- errno ---- */

static void test_errno__has_a_code_for_every_errno_of_the_platform(void **state)
{
	(void)state;
	for (int i = 1; i < 200; i++) {
		const char *name = strerrorname_np(i);
		fw_error *err = fw_error_from_errno(FW_HERE, i, "thing");

		if (name) {
			assert_non_null(fw_errno_name(i));
			/* Two names for one number. */
			if (i != EOPNOTSUPP && i != EAGAIN && i != EDEADLK)
				assert_string_equal(fw_errno_name(i), name);
			assert_string_equal(first_cause(err).code, fw_errno_name(i));
			assert_string_equal(first_cause(err).name, "errno");
			assert_true(strlen(first_cause(err).message) > 3);
			assert_string_not_equal(fw_error_name(err), "internal.api_misuse");
		} else {
			assert_null(fw_errno_name(i));
			assert_int_equal(fw_error_code(err), FW_INTERNAL_UNEXPECTED);
		}
		fw_error_free(err);
	}
}

static void test_errno__maps_to_the_expected_codes(void **state)
{
	static const struct {
		int errnum;
		const char *code, *message;
	} table[] = {
		{ ENOENT, "file.not_found", "File not found: a/b" },
		{ ENOTDIR, "path.not_found", "path does not exist: a/b" },
		{ EACCES, "auth.insufficient_permissions", "permission denied: a/b" },
		{ EPERM, "auth.insufficient_permissions", "permission denied: a/b" },
		{ ENOSPC, "io.no_space", "no space left to write a/b" },
		{ EDQUOT, "io.no_space", "no space left to write a/b" },
		{ EROFS, "file.write_failed", "could not write a/b: file system is read-only" },
		{ EISDIR, "file.read_failed", "could not read a/b: is a directory" },
		{ EEXIST, "file.already_exists", "file already exists: a/b" },
		{ ENAMETOOLONG, "path.invalid", "invalid path a/b: name too long" },
		{ ELOOP, "path.invalid", "invalid path a/b: too many symbolic links" },
		{ EMFILE, "io.too_many_files", "too many open files" },
		{ ENFILE, "io.too_many_files", "too many open files" },
		{ ENOMEM, "internal.out_of_memory", "out of memory" },
		{ EIO, "io.failed", "I/O error occurred" },
		{ EINTR, "io.failed", "I/O error occurred" },
		{ EAGAIN, "io.failed", "I/O error occurred" },
		{ ECONNREFUSED, "transport.connection_refused", "connection refused: a/b" },
		{ ECONNRESET, "transport.connection_reset", "connection reset: a/b" },
		{ ETIMEDOUT, "transport.timeout", "connection timed out: a/b" },
		{ ENETUNREACH, "transport.unreachable", "no route to a/b" },
		{ EPIPE, "transport.broken_pipe", "a/b went away while data was sent" },
		{ ENOSYS, "internal.unsupported", "a/b is not supported" },
		{ ECANCELED, "runtime.cancelled", "call was cancelled by the client" },
		{ EBADF, "internal.unexpected", "An unexpected error occurred" },
		{ EUCLEAN, "file.read_failed",
		  "could not read a/b: file system needs cleaning" },
		{ EHWPOISON, "file.read_failed",
		  "could not read a/b: memory page has a hardware error" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		fw_error *err = fw_error_from_errno(FW_HERE, table[i].errnum, "a/b");

		assert_string_equal(fw_error_name(err), table[i].code);
		assert_string_equal(fw_error_message(err), table[i].message);
		fw_error_free(err);
	}
}

static void test_errno__works_without_an_object(void **state)
{
	(void)state;
	for (int i = -2; i < 200; i++) {
		fw_error *err = fw_error_from_errno(FW_HERE, i, NULL);

		assert_string_not_equal(fw_error_name(err), "internal.api_misuse");
		assert_true(strlen(fw_error_message(err)) > 0);
		fw_error_free(err);
	}
}

static void test_errno__sets_the_delivery(void **state)
{
	fw_error *refused = fw_error_from_errno(FW_HERE, ECONNREFUSED, "db:5432");
	fw_error *reset = fw_error_from_errno(FW_HERE, ECONNRESET, "db:5432");
	fw_error *missing = fw_error_from_errno(FW_HERE, ENOENT, "x");

	(void)state;
	assert_int_equal(fw_error_delivery(refused), FW_NOT_SENT);
	assert_int_equal(fw_error_delivery(reset), FW_SENT);
	assert_int_equal(fw_error_delivery(missing), FW_DELIVERY_NONE);
	fw_error_free(refused);
	fw_error_free(reset);
	fw_error_free(missing);
}

static void test_errno__names_unexpected_ones(void **state)
{
	fw_error *err = fw_error_from_errno(FW_HERE, EBADF, "x");
	fw_field field;

	(void)state;
	assert_true(fw_error_find_field(err, "exception_type", &field));
	assert_string_equal(field.string, "EBADF");
	fw_error_free(err);
	err = fw_error_from_errno(FW_HERE, 9999, "x");
	assert_string_equal(first_cause(err).code, "errno 9999");
	fw_error_free(err);
}

/* ---- HTTP ---- */

static void test_http__classes_are_those_of_toolerror(void **state)
{
	(void)state;
	for (int status = 400; status < 600; status++) {
		fw_error *err = fw_error_from_http(FW_HERE, status, NULL, 0, "api");
		fw_type type = fw_error_row(err)->type, want = FW_TYPE_VALIDATION;
		char code[16];

		if (status == 401 || status == 403)
			want = FW_TYPE_PERMISSION;
		else if (status == 404 || status == 410)
			want = FW_TYPE_NOT_FOUND;
		else if (status == 409 || status == 412)
			want = FW_TYPE_CONFLICT;
		else if (status == 408 || status == 429 || status >= 500)
			want = FW_TYPE_TRANSIENT;
		assert_int_equal(type, want);
		assert_int_equal(fw_error_status(err), status);
		assert_int_equal(fw_error_delivery(err), FW_REPLIED);
		assert_int_equal(fw_error_origin(err), FW_ORIGIN_UPSTREAM);
		(void)snprintf(code, sizeof(code), "HTTP %d", status);
		assert_string_equal(first_cause(err).code, code);
		assert_string_equal(first_cause(err).name, "http");
		fw_error_free(err);
	}
}

static void test_http__picks_the_code_that_fits(void **state)
{
	static const struct {
		int status;
		const char *code;
	} table[] = {
		{ 400, "input.invalid_value" },    { 401, "auth.unauthorized" },
		{ 403, "auth.forbidden" },         { 404, "resource.not_found" },
		{ 409, "resource.conflict" },      { 429, "upstream.rate_limited" },
		{ 500, "dependency.unavailable" }, { 503, "dependency.unavailable" },
		{ 504, "transport.timeout" },      { 408, "transport.timeout" },
		{ 200, "internal.unexpected" },    { 302, "internal.unexpected" },
		{ 0, "internal.unexpected" },      { -1, "internal.unexpected" },
		{ 600, "internal.unexpected" },    { 499, "input.invalid_value" },
		{ 599, "dependency.unavailable" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		fw_error *err = fw_error_from_http(FW_HERE, table[i].status, NULL, 0, NULL);

		assert_string_equal(fw_error_name(err), table[i].code);
		fw_error_free(err);
	}
}

static void test_http__keeps_the_delay_of_transient_errors(void **state)
{
	fw_error *limited = fw_error_from_http(FW_HERE, 429, "30", 0, "api");
	fw_error *missing = fw_error_from_http(FW_HERE, 404, "30", 0, "api");

	(void)state;
	assert_true(fw_error_retry_after(limited) == 30);
	assert_int_equal(fw_error_retry(limited), FW_RETRY_BACKOFF);
	assert_true(fw_error_retry_after(missing) < 0);
	assert_int_equal(fw_error_retry(missing), FW_RETRY_AFTER_FIX);
	fw_error_free(limited);
	fw_error_free(missing);
}

static void test_retry_after__reads_seconds_and_all_three_dates(void **state)
{
	/* 1994-11-06 08:49:37 UTC */
	const int64_t then = INT64_C(784111777000);
	static const char *const same[] = {
		"Sun, 06 Nov 1994 08:49:37 GMT",
		"Sunday, 06-Nov-94 08:49:37 GMT",
		"Sun Nov  6 08:49:37 1994",
		"  Sun, 06 Nov 1994 08:49:37 GMT\t",
	};

	(void)state;
	assert_true(fw_retry_after_parse("120", 0) == 120);
	assert_true(fw_retry_after_parse(" 0 ", 0) == 0);
	assert_true(fw_retry_after_parse("1.5", 0) == 1.5);
	assert_true(fw_retry_after_parse("999999999999999", 0) == 999999999999999);
	for (size_t i = 0; i < COUNT(same); i++) {
		assert_true(fw_retry_after_parse(same[i], then - 90500) == 90.5);
		assert_true(fw_retry_after_parse(same[i], then) == 0);
		assert_true(fw_retry_after_parse(same[i], then + 5000) == 0);
	}
	assert_true(fw_retry_after_parse("Thu, 29 Feb 2024 00:00:00 GMT",
					 INT64_C(1709164800000) - 1000) == 1);
	assert_true(fw_retry_after_parse("Fri, 31 Dec 9999 23:59:60 GMT", INT64_MAX) == 0);
	assert_true(fw_retry_after_parse("Fri, 31 Dec 9999 23:59:60 GMT", INT64_MIN) > 9e15);
	/* Years of two digits are at most fifty years in the future. */
	assert_true(fw_retry_after_parse("Sunday, 06-Nov-70 08:49:37 GMT",
					 INT64_C(1763900000000)) > 1e9);
	assert_true(fw_retry_after_parse("Sunday, 06-Nov-99 08:49:37 GMT",
					 INT64_C(1763900000000)) == 0);
}

static void test_retry_after__refuses_the_rest(void **state)
{
	static const char *const wrong[] = {
		"",
		" ",
		"-1",
		"+1",
		"1.",
		".5",
		"1.2.3",
		"1e9",
		"12 s",
		"soon",
		"0x10",
		"9999999999999999",
		"99999999999999999999999999999999999999",
		"Sun, 06 Nov 1994 08:49:37",
		"Sun, 06 Nov 1994 08:49:37 UTC",
		"Sun, 6 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nov 94 08:49:37 GMT",
		"Son, 06 Nov 1994 08:49:37 GMT",
		"Sun, 06 Nob 1994 08:49:37 GMT",
		"Sun, 31 Nov 1994 08:49:37 GMT",
		"Sun, 00 Nov 1994 08:49:37 GMT",
		"Wed, 29 Feb 2023 00:00:00 GMT",
		"Sun, 06 Nov 1994 24:00:00 GMT",
		"Sun, 06 Nov 1994 08:60:00 GMT",
		"Sun, 06 Nov 1994 08:49:61 GMT",
		"Sunday, 06-Nov-1994 08:49:37 GMT",
		"Sunday, 06 Nov 94 08:49:37 GMT",
		"Sunday Nov  6 08:49:37 1994",
		"Sun Nov 06 08:49:37 94",
		"Sun, 06 Nov 1994 08:49:37 GMT!",
		"Sun,",
		"Sun",
		"Sunday, 06-",
	};

	(void)state;
	assert_true(fw_retry_after_parse(NULL, 0) < 0);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		if (fw_retry_after_parse(wrong[i], 0) >= 0)
			print_message("taken: \"%s\"\n", wrong[i]);
		assert_true(fw_retry_after_parse(wrong[i], 0) < 0);
	}
}

/* ---- signals ---- */

static void test_signal__has_a_name_for_every_signal(void **state)
{
	char name[32];

	(void)state;
	for (int i = 1; i < SIGSYS + 1; i++) {
		assert_non_null(sigabbrev_np(i));
		(void)snprintf(name, sizeof(name), "SIG%s", sigabbrev_np(i));
		/* glibc lists the older name of these two first. */
		if (i != SIGIO)
			assert_string_equal(fw_signal_name(i), name);
		else
			assert_string_equal(fw_signal_name(i), "SIGIO");
	}
	assert_string_equal(fw_signal_name(SIGRTMIN), "SIGRTMIN");
	assert_string_equal(fw_signal_name(SIGRTMIN + 3), "SIGRTMIN+3");
	assert_non_null(fw_signal_name(SIGRTMAX));
	assert_null(fw_signal_name(SIGRTMAX + 1));
	assert_null(fw_signal_name(0));
	assert_null(fw_signal_name(-9));
	assert_null(fw_signal_name(32));
}

static void test_signal__is_a_crash(void **state)
{
	fw_error *err = fw_error_from_signal(FW_HERE, SIGSEGV);
	fw_field field;

	(void)state;
	assert_int_equal(fw_error_code(err), FW_TOOL_CRASHED);
	assert_string_equal(fw_error_message(err), "tool process died of SIGSEGV");
	assert_true(fw_error_find_field(err, "signal", &field));
	assert_string_equal(field.string, "SIGSEGV");
	assert_string_equal(first_cause(err).code, "SIGSEGV");
	assert_string_equal(first_cause(err).name, "signal");
	assert_string_equal(first_cause(err).message, "segmentation fault");
	fw_error_free(err);
	err = fw_error_from_signal(FW_HERE, 1234);
	assert_string_equal(fw_error_message(err), "tool process died of signal 1234");
	fw_error_free(err);
}

/* ---- curl ---- */

#define SAME(name)          \
	{                   \
		name, #name \
	}

static void test_curl__numbers_are_those_of_libcurl(void **state)
{
	static const struct {
		int number;
		const char *name;
	} table[] = {
		SAME(CURLE_OK),
		SAME(CURLE_UNSUPPORTED_PROTOCOL),
		SAME(CURLE_FAILED_INIT),
		SAME(CURLE_URL_MALFORMAT),
		SAME(CURLE_NOT_BUILT_IN),
		SAME(CURLE_COULDNT_RESOLVE_PROXY),
		SAME(CURLE_COULDNT_RESOLVE_HOST),
		SAME(CURLE_COULDNT_CONNECT),
		SAME(CURLE_WEIRD_SERVER_REPLY),
		SAME(CURLE_REMOTE_ACCESS_DENIED),
		SAME(CURLE_FTP_ACCEPT_FAILED),
		SAME(CURLE_FTP_WEIRD_PASS_REPLY),
		SAME(CURLE_FTP_ACCEPT_TIMEOUT),
		SAME(CURLE_FTP_WEIRD_PASV_REPLY),
		SAME(CURLE_FTP_WEIRD_227_FORMAT),
		SAME(CURLE_FTP_CANT_GET_HOST),
		SAME(CURLE_HTTP2),
		SAME(CURLE_FTP_COULDNT_SET_TYPE),
		SAME(CURLE_PARTIAL_FILE),
		SAME(CURLE_FTP_COULDNT_RETR_FILE),
		SAME(CURLE_QUOTE_ERROR),
		SAME(CURLE_HTTP_RETURNED_ERROR),
		SAME(CURLE_WRITE_ERROR),
		SAME(CURLE_UPLOAD_FAILED),
		SAME(CURLE_READ_ERROR),
		SAME(CURLE_OUT_OF_MEMORY),
		SAME(CURLE_OPERATION_TIMEDOUT),
		SAME(CURLE_FTP_PORT_FAILED),
		SAME(CURLE_FTP_COULDNT_USE_REST),
		SAME(CURLE_RANGE_ERROR),
		SAME(CURLE_SSL_CONNECT_ERROR),
		SAME(CURLE_BAD_DOWNLOAD_RESUME),
		SAME(CURLE_FILE_COULDNT_READ_FILE),
		SAME(CURLE_LDAP_CANNOT_BIND),
		SAME(CURLE_LDAP_SEARCH_FAILED),
		SAME(CURLE_ABORTED_BY_CALLBACK),
		SAME(CURLE_BAD_FUNCTION_ARGUMENT),
		SAME(CURLE_INTERFACE_FAILED),
		SAME(CURLE_TOO_MANY_REDIRECTS),
		SAME(CURLE_UNKNOWN_OPTION),
		SAME(CURLE_SETOPT_OPTION_SYNTAX),
		SAME(CURLE_GOT_NOTHING),
		SAME(CURLE_SSL_ENGINE_NOTFOUND),
		SAME(CURLE_SSL_ENGINE_SETFAILED),
		SAME(CURLE_SEND_ERROR),
		SAME(CURLE_RECV_ERROR),
		SAME(CURLE_SSL_CERTPROBLEM),
		SAME(CURLE_SSL_CIPHER),
		SAME(CURLE_PEER_FAILED_VERIFICATION),
		SAME(CURLE_BAD_CONTENT_ENCODING),
		SAME(CURLE_FILESIZE_EXCEEDED),
		SAME(CURLE_USE_SSL_FAILED),
		SAME(CURLE_SEND_FAIL_REWIND),
		SAME(CURLE_SSL_ENGINE_INITFAILED),
		SAME(CURLE_LOGIN_DENIED),
		SAME(CURLE_TFTP_NOTFOUND),
		SAME(CURLE_TFTP_PERM),
		SAME(CURLE_REMOTE_DISK_FULL),
		SAME(CURLE_TFTP_ILLEGAL),
		SAME(CURLE_TFTP_UNKNOWNID),
		SAME(CURLE_REMOTE_FILE_EXISTS),
		SAME(CURLE_TFTP_NOSUCHUSER),
		SAME(CURLE_SSL_CACERT_BADFILE),
		SAME(CURLE_REMOTE_FILE_NOT_FOUND),
		SAME(CURLE_SSH),
		SAME(CURLE_SSL_SHUTDOWN_FAILED),
		SAME(CURLE_AGAIN),
		SAME(CURLE_SSL_CRL_BADFILE),
		SAME(CURLE_SSL_ISSUER_ERROR),
		SAME(CURLE_FTP_PRET_FAILED),
		SAME(CURLE_RTSP_CSEQ_ERROR),
		SAME(CURLE_RTSP_SESSION_ERROR),
		SAME(CURLE_FTP_BAD_FILE_LIST),
		SAME(CURLE_CHUNK_FAILED),
		SAME(CURLE_NO_CONNECTION_AVAILABLE),
		SAME(CURLE_SSL_PINNEDPUBKEYNOTMATCH),
		SAME(CURLE_SSL_INVALIDCERTSTATUS),
		SAME(CURLE_HTTP2_STREAM),
		SAME(CURLE_RECURSIVE_API_CALL),
		SAME(CURLE_AUTH_ERROR),
		SAME(CURLE_HTTP3),
		SAME(CURLE_QUIC_CONNECT_ERROR),
		SAME(CURLE_PROXY),
		SAME(CURLE_SSL_CLIENTCERT),
		SAME(CURLE_OBSOLETE20),
		SAME(CURLE_OBSOLETE40),
		SAME(CURLE_OBSOLETE62),
#if LIBCURL_VERSION_NUM >= 0x075400
		SAME(CURLE_UNRECOVERABLE_POLL),
#endif
#if LIBCURL_VERSION_NUM >= 0x080600
		SAME(CURLE_TOO_LARGE),
#endif
#if LIBCURL_VERSION_NUM >= 0x080800
		SAME(CURLE_ECH_REQUIRED),
#endif
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++)
		assert_string_equal(fw_curl_name(table[i].number), table[i].name);
	for (int i = 0; i < CURL_LAST; i++)
		if (i <= 101)
			assert_non_null(fw_curl_name(i));
	assert_null(fw_curl_name(-1));
	assert_null(fw_curl_name(102));
	assert_null(fw_curl_name(100000));
}

static void test_curl__sets_the_delivery(void **state)
{
	static const struct {
		int number;
		const char *code;
		fw_delivery delivery;
		fw_origin origin;
	} table[] = {
		{ 6, "transport.name_not_resolved", FW_NOT_SENT, FW_ORIGIN_TRANSPORT },
		{ 7, "transport.connection_refused", FW_NOT_SENT, FW_ORIGIN_TRANSPORT },
		{ 35, "transport.tls_failed", FW_NOT_SENT, FW_ORIGIN_TRANSPORT },
		{ 60, "transport.tls_failed", FW_NOT_SENT, FW_ORIGIN_TRANSPORT },
		{ 28, "transport.timeout", FW_SENT, FW_ORIGIN_TRANSPORT },
		{ 52, "transport.connection_reset", FW_SENT, FW_ORIGIN_TRANSPORT },
		{ 55, "transport.broken_pipe", FW_SENT, FW_ORIGIN_TRANSPORT },
		{ 56, "transport.connection_reset", FW_SENT, FW_ORIGIN_TRANSPORT },
		{ 22, "dependency.unavailable", FW_REPLIED, FW_ORIGIN_UPSTREAM },
		{ 78, "resource.not_found", FW_REPLIED, FW_ORIGIN_UPSTREAM },
		{ 27, "internal.out_of_memory", FW_DELIVERY_NONE, FW_ORIGIN_SERVER },
		{ 0, "internal.unexpected", FW_DELIVERY_NONE, FW_ORIGIN_SERVER },
		{ 20, "internal.unexpected", FW_DELIVERY_NONE, FW_ORIGIN_SERVER },
		{ 4711, "internal.unexpected", FW_DELIVERY_NONE, FW_ORIGIN_SERVER },
	};

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		fw_error *err = fw_error_from_curl(FW_HERE, table[i].number, "https://x.org/");

		assert_string_equal(fw_error_name(err), table[i].code);
		assert_int_equal(fw_error_delivery(err), table[i].delivery);
		assert_int_equal(fw_error_origin(err), table[i].origin);
		assert_string_equal(first_cause(err).name, "curl");
		fw_error_free(err);
	}
}

static void test_curl__never_misuses_a_constructor(void **state)
{
	(void)state;
	for (int i = -1; i < 110; i++) {
		fw_error *err = fw_error_from_curl(FW_HERE, i, NULL);

		assert_string_not_equal(fw_error_name(err), "internal.api_misuse");
		fw_error_free(err);
	}
}

static void test_curl__hides_a_password_in_the_url(void **state)
{
	fw_error *err = fw_error_from_curl(FW_HERE, 7, "https://bob:hunter2@x.org/");

	(void)state;
	assert_string_equal(fw_error_message(err),
			    "connection refused: https://[redacted]@x.org/");
	fw_error_free(err);
}

/* ---- strings and JSON ---- */

#define UNEXPECTED "An unexpected error occurred"

static void test_text__is_message_and_cause_of_a_failed_tool(void **state)
{
	fw_error *err = fw_error_from_text(FW_HERE, "no such table: users xyz", 20);

	(void)state;
	assert_int_equal(fw_error_code(err), FW_TOOL_FAILED);
	assert_string_equal(fw_error_message(err), "no such table: users");
	assert_string_equal(first_cause(err).message, "no such table: users");
	assert_null(first_cause(err).code);
	assert_null(first_cause(err).name);
	fw_error_free(err);
}

static void test_text__is_made_safe(void **state)
{
	static char big[100000];
	fw_error *err = fw_error_from_text(FW_HERE, "token=abc\xff", 10);

	(void)state;
	assert_null(strstr(first_cause(err).message, "abc"));
	fw_error_free(err);
	memset(big, 'x', sizeof(big));
	err = fw_error_from_text(FW_HERE, big, sizeof(big));
	assert_true(strlen(first_cause(err).message) < 20000);
	fw_error_free(err);
	err = fw_error_from_text(FW_HERE, NULL, 0);
	assert_int_equal(fw_error_cause_count(err), 0);
	fw_error_free(err);
	err = fw_error_from_text(FW_HERE, "", 0);
	assert_int_equal(fw_error_code(err), FW_TOOL_FAILED);
	fw_error_free(err);
}

static fw_error *from_json(const char *json)
{
	return fw_error_from_json(FW_HERE, json, strlen(json));
}

static void test_json__message_of_an_object_is_the_message(void **state)
{
	fw_error *err = from_json("{\"message\":\"disk is gone\",\"code\":7}");

	(void)state;
	assert_int_equal(fw_error_code(err), FW_TOOL_FAILED);
	assert_string_equal(fw_error_message(err), "disk is gone");
	assert_string_equal(first_cause(err).json, "{\"message\":\"disk is gone\",\"code\":7}");
	fw_error_free(err);
	err = from_json("{\"message\":5}");
	assert_string_equal(fw_error_message(err), UNEXPECTED);
	fw_error_free(err);
}

static void test_json__other_values_are_their_text(void **state)
{
	static const struct {
		const char *json, *cause;
	} table[] = {
		{ "\"boom\"", "boom" },   { "42", "42" },       { "1e400", "1e400" },
		{ "true", "true" },       { "[1,2]", "[1,2]" }, { "not json", "not json" },
		{ "{\"a\":", "{\"a\":" },
	};
	fw_error *err;

	(void)state;
	for (size_t i = 0; i < COUNT(table); i++) {
		err = from_json(table[i].json);
		assert_string_equal(fw_error_message(err), table[i].cause);
		assert_string_equal(first_cause(err).message, table[i].cause);
		fw_error_free(err);
	}
	err = from_json("null");
	assert_string_equal(fw_error_message(err), UNEXPECTED);
	assert_int_equal(fw_error_cause_count(err), 0);
	fw_error_free(err);
}

static void test_json__keeps_what_is_too_deep_as_words(void **state)
{
	char deep[7 + 400];
	fw_error *err;

	(void)state;
	memcpy(deep, "{\"a\":", 5);
	memset(deep + 5, '[', 200);
	memset(deep + 205, ']', 200);
	memcpy(deep + 405, "}", 2);
	err = from_json(deep);
	assert_string_equal(fw_error_message(err), deep);
	assert_int_equal(fw_error_cause_count(err), 1);
	assert_null(first_cause(err).json);
	fw_error_free(err);
}

/* ---- out of memory ---- */

/* ---- SQLSTATE ---- */

static void test_sqlstate__picks_the_code_that_fits(void **state)
{
	static const struct {
		const char *state;
		int code;
		fw_retry retry;
	} rows[] = {
		{ "23505", FW_RESOURCE_ALREADY_EXISTS, FW_RETRY_AFTER_FIX },
		{ "23503", FW_RESOURCE_CONFLICT, FW_RETRY_AFTER_FIX },
		{ "23514", FW_INPUT_INVALID_VALUE, FW_RETRY_AFTER_FIX },
		{ "40001", FW_RESOURCE_CONFLICT, FW_RETRY_BACKOFF },
		{ "40P01", FW_RESOURCE_CONFLICT, FW_RETRY_BACKOFF },
		{ "08006", FW_DEPENDENCY_UNAVAILABLE, FW_RETRY_BACKOFF },
		{ "53100", FW_IO_NO_SPACE, FW_RETRY_AFTER_FIX },
		{ "42501", FW_AUTH_INSUFFICIENT_PERMISSIONS, FW_RETRY_NEVER },
		{ "42601", FW_INTERNAL_UNEXPECTED, FW_RETRY_NEVER },
		{ "P0001", FW_TOOL_FAILED, FW_RETRY_NEVER },
		{ "ZZ999", FW_INTERNAL_UNEXPECTED, FW_RETRY_NEVER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fw_error *err = fw_error_from_sqlstate(FW_HERE, rows[i].state, "note 7");
		fw_cause cause;

		assert_int_equal(fw_error_code(err), rows[i].code);
		if (rows[i].retry == FW_RETRY_BACKOFF)
			assert_int_equal(fw_error_retry(err), FW_RETRY_BACKOFF);
		assert_true(fw_error_cause(err, fw_error_cause_count(err) - 1, &cause));
		assert_string_equal(cause.code, rows[i].state);
		assert_string_equal(cause.name, "sqlstate");
		assert_string_equal(cause.message, fw_sqlstate_words(rows[i].state));
		fw_error_free(err);
	}
}

static void test_sqlstate__is_five_characters_of_a_failure(void **state)
{
	static const char *const others[] = { "", "2350", "235055", "00000", "01000", "2350x" };
	fw_error *err = fw_error_from_sqlstate(FW_HERE, "23505", NULL);

	(void)state;
	assert_string_equal(fw_error_message(err), "the row already exists");
	fw_error_free(err);
	assert_null(fw_sqlstate_words(NULL));
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_null(fw_sqlstate_words(others[i]));
		err = fw_error_from_sqlstate(FW_HERE, others[i], NULL);
		assert_int_equal(fw_error_code(err), FW_INTERNAL_UNEXPECTED);
		fw_error_free(err);
	}
}

static void test_not_found__is_the_tools_unless_it_came_over_http(void **state)
{
	fw_error *local = fw_raise_resource_not_found("note 7");
	fw_error *remote = fw_error_from_http(FW_HERE, 404, NULL, 0, "api");

	(void)state;
	assert_int_equal(fw_error_origin(local), FW_ORIGIN_TOOL);
	assert_int_equal(fw_error_origin(remote), FW_ORIGIN_UPSTREAM);
	fw_error_free(local);
	fw_error_free(remote);
}

static void make_one_of_each(void)
{
	static char big[3000];

	memset(big, 'y', sizeof(big) - 1);
	fw_error_free(fw_error_from_errno(FW_HERE, EROFS, big));
	fw_error_free(fw_error_from_http(FW_HERE, 429, "5", 0, big));
	fw_error_free(fw_error_from_signal(FW_HERE, SIGKILL));
	fw_error_free(fw_error_from_curl(FW_HERE, 35, big));
	fw_error_free(fw_error_from_sqlstate(FW_HERE, "23505", big));
	fw_error_free(fw_error_from_text(FW_HERE, big, sizeof(big)));
	fw_error_free(from_json("{\"message\":\"x\",\"b\":[1,{\"c\":null}]}"));
}

static void test_raw__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(make_one_of_each);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_errno__has_a_code_for_every_errno_of_the_platform),
		cmocka_unit_test(test_errno__maps_to_the_expected_codes),
		cmocka_unit_test(test_errno__works_without_an_object),
		cmocka_unit_test(test_errno__sets_the_delivery),
		cmocka_unit_test(test_errno__names_unexpected_ones),
		cmocka_unit_test(test_http__classes_are_those_of_toolerror),
		cmocka_unit_test(test_http__picks_the_code_that_fits),
		cmocka_unit_test(test_http__keeps_the_delay_of_transient_errors),
		cmocka_unit_test(test_retry_after__reads_seconds_and_all_three_dates),
		cmocka_unit_test(test_retry_after__refuses_the_rest),
		cmocka_unit_test(test_signal__has_a_name_for_every_signal),
		cmocka_unit_test(test_signal__is_a_crash),
		cmocka_unit_test(test_curl__numbers_are_those_of_libcurl),
		cmocka_unit_test(test_curl__sets_the_delivery),
		cmocka_unit_test(test_curl__never_misuses_a_constructor),
		cmocka_unit_test(test_curl__hides_a_password_in_the_url),
		cmocka_unit_test(test_text__is_message_and_cause_of_a_failed_tool),
		cmocka_unit_test(test_text__is_made_safe),
		cmocka_unit_test(test_json__message_of_an_object_is_the_message),
		cmocka_unit_test(test_json__other_values_are_their_text),
		cmocka_unit_test(test_json__keeps_what_is_too_deep_as_words),
		cmocka_unit_test(test_sqlstate__picks_the_code_that_fits),
		cmocka_unit_test(test_sqlstate__is_five_characters_of_a_failure),
		cmocka_unit_test(test_not_found__is_the_tools_unless_it_came_over_http),
		cmocka_unit_test(test_raw__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests_name("raw", tests, NULL, no_error_is_left);
}
