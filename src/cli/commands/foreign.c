/*
 * foreign.c - see foreign.h.
 */
#include "cli/commands/foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ERRNO_MOST = 4095, SIGNAL_MOST = 64, CURL_MOST = 255, STATUS_DIGITS = 3 };

/* The first cause of an error made from something else describes that. */
static fw_error *described(fw_error *err, const char *kind, char *ret_what, size_t size)
{
	fw_cause cause;

	if (fw_error_cause(err, 0, &cause) && cause.message)
		(void)snprintf(ret_what, size, "%s, %s", kind, cause.message);
	else
		(void)snprintf(ret_what, size, "%s", kind);
	return err;
}

static fw_error *from_errno(const char *name, char *ret_what, size_t size)
{
	char kind[48];

	for (int i = 1; i <= ERRNO_MOST; i++) {
		const char *known = fw_errno_name(i);

		if (!known || strcmp(known, name) != 0)
			continue;
		(void)snprintf(kind, sizeof kind, "errno %d", i);
		return described(fw_error_from_errno(FW_HERE, i, NULL), kind, ret_what, size);
	}
	return NULL;
}

static fw_error *from_signal(const char *name, char *ret_what, size_t size)
{
	char kind[48];

	for (int i = 1; i <= SIGNAL_MOST; i++) {
		const char *known = fw_signal_name(i);

		if (!known || strcmp(known, name) != 0)
			continue;
		(void)snprintf(kind, sizeof kind, "signal %d", i);
		return described(fw_error_from_signal(FW_HERE, i), kind, ret_what, size);
	}
	return NULL;
}

static fw_error *from_curl(const char *name, char *ret_what, size_t size)
{
	for (int i = 1; i <= CURL_MOST; i++) {
		const char *known = fw_curl_name(i);

		if (known && strcmp(known, name) == 0)
			return described(fw_error_from_curl(FW_HERE, i, NULL),
					 "a result of libcurl", ret_what, size);
	}
	return NULL;
}

/* "404", "HTTP 404" */
static fw_error *from_http(const char *name, char *ret_what, size_t size)
{
	const char *digits = strncmp(name, "HTTP ", 5) == 0 ? name + 5 : name;
	long status;

	if (strlen(digits) != STATUS_DIGITS || strspn(digits, "0123456789") != STATUS_DIGITS)
		return NULL;
	status = strtol(digits, NULL, 10);
	if (status < 400 || status > 599)
		return NULL;
	return described(fw_error_from_http(FW_HERE, (int)status, NULL, 0, NULL),
			 "an HTTP status", ret_what, size);
}

static fw_error *from_jsonrpc(const char *name, char *ret_what, size_t size)
{
	static const struct {
		const char *number;
		const char *words;
		const char *code;
	} known[] = {
		{ "-32700", "parse error", "protocol.parse_error" },
		{ "-32600", "invalid request", "protocol.invalid_request" },
		{ "-32601", "method not found", "protocol.method_not_found" },
		{ "-32602", "invalid params", "protocol.invalid_params" },
		{ "-32603", "internal error", "internal.unexpected" },
		{ "-32002", "resource not found (MCP)", "protocol.resource_not_found" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		const fw_row *row = fw_registry_find(NULL, known[i].code);

		if (strcmp(known[i].number, name) != 0 || !row)
			continue;
		(void)snprintf(ret_what, size, "a code of JSON-RPC, %s", known[i].words);
		return fw_row_example(row);
	}
	return NULL;
}

static fw_error *from_sqlstate(const char *name, char *ret_what, size_t size)
{
	const char *words = fw_sqlstate_words(name);

	/* Many words have five letters. */
	if (!words || !strpbrk(name, "0123456789"))
		return NULL;
	(void)snprintf(ret_what, size, "a SQLSTATE, %s", words);
	return fw_error_from_sqlstate(FW_HERE, name, NULL);
}

fw_error *cli_foreign_error(const char *name, char *ret_what, size_t size)
{
	static fw_error *(*const readers[])(const char *, char *, size_t) = {
		from_errno, from_signal, from_http, from_jsonrpc, from_curl, from_sqlstate
	};
	fw_error *err = NULL;

	for (size_t i = 0; i < sizeof readers / sizeof *readers && !err; i++)
		err = readers[i](name, ret_what, size);
	return err;
}
