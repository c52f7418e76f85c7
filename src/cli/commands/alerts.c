/*
 * alerts.c - the alerts that are firing in local servers, or in one server by URL.
 *
 * Each server keeps its alerts in a file in the state directory and replaces it at
 * every change. The file of a server that no longer runs is ignored and removed.
 */
#include "cli/command.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>

#include "base/buf.h"
#include "base/json.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "io/curl.h"
#include "observe/alert/alerting_share.h"

enum { JSON, URL, TOKEN_FILE, STORE };

enum { STATE_BYTES = 8 * 1024 * 1024, STATE_DEPTH = 16, COLUMNS = 6, REQUEST_S = 10 };

static const cli_option options[] = {
	[JSON] = { "json", NULL, 'j', CLI_NOTHING,
		   "Print a JSON array with one object per server." },
	[URL] = { "url", "URL", 'u', CLI_TEXT,
		  "Query the server at URL (such as http://127.0.0.1:4000) instead of the "
		  "servers of this user." },
	[TOKEN_FILE] = { "token-file", "FILE", 0, CLI_FILE,
			 "With --url: read the bearer token from the first line of FILE." },
	[STORE] = { "store", "URL", 0, CLI_TEXT,
		    "Show the servers that share this store (postgresql://...) instead of "
		    "those of this user." },
};

/* ---- finding ------------------------------------------------------------------- */

struct servers {
	yyjson_doc **docs;
	size_t count;
};

static fw_error *keep(struct servers *servers, const char *text, size_t len, const char *from)
{
	const struct fw_json_limits limits = { .bytes = STATE_BYTES, .depth = STATE_DEPTH };
	yyjson_doc *doc = fw_json_read(text, len, limits, 0, NULL, NULL);
	yyjson_doc **more;

	if (!doc || !yyjson_is_arr(yyjson_obj_get(yyjson_doc_get_root(doc), "firing"))) {
		yyjson_doc_free(doc);
		return fw_error_wrap(fw_raise_contract_malformed("alerts", "/firing", NULL,
								 "not the alerts of a server"),
				     FW_HERE, "could not read %s", from);
	}
	more = realloc(servers->docs, (servers->count + 1) * sizeof *more);
	if (!more) {
		yyjson_doc_free(doc);
		return fw_raise_internal_out_of_memory();
	}
	servers->docs = more;
	more[servers->count++] = doc;
	return NULL;
}

static bool read_file(int directory, const char *name, struct fw_buf *text)
{
	int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t len = 0;

	if (fd < 0)
		return false;
	while (fw_buf_reserve(text, 4096) && (len = read(fd, text->text + text->len, 4096)) > 0)
		text->len += (size_t)len;
	(void)close(fd);
	return len == 0 && text->state == FW_BUF_OK;
}

/* Whether the process still runs, and is not a later one with the same id. */
static bool is_alive(yyjson_val *root)
{
	const char *ticks = yyjson_get_str(yyjson_obj_get(root, "start_ticks"));
	int64_t pid = yyjson_get_sint(yyjson_obj_get(root, "pid"));
	char path[64];
	struct fw_buf stat;
	const char *at;
	bool is_same = false;

	if (pid <= 0 || !ticks || (kill((pid_t)pid, 0) != 0 && errno == ESRCH))
		return false;
	(void)snprintf(path, sizeof path, "/proc/%lld/stat", (long long)pid);
	fw_buf_init(&stat, STATE_BYTES);
	if (!read_file(AT_FDCWD, path, &stat)) {
		fw_buf_clear(&stat);
		return false;
	}
	stat.text[stat.len] = '\0';
	at = strrchr(stat.text, ')');
	for (int field = 0; at && field < 20; field++)
		at = strchr(at + 1, ' ');
	if (at)
		is_same = strlen(ticks) == strcspn(at + 1, " ") &&
			  strncmp(at + 1, ticks, strlen(ticks)) == 0;
	fw_buf_clear(&stat);
	return is_same;
}

static void take_file(struct servers *servers, int directory, const char *name)
{
	struct fw_buf text;
	fw_error *err;

	fw_buf_init(&text, STATE_BYTES);
	if (read_file(directory, name, &text)) {
		err = keep(servers, text.text, text.len, name);
		if (!err && !is_alive(yyjson_doc_get_root(servers->docs[servers->count - 1]))) {
			yyjson_doc_free(servers->docs[--servers->count]);
			(void)unlinkat(directory, name, 0);
		}
		fw_error_free(err);
	}
	fw_buf_clear(&text);
}

static fw_error *look_here(struct servers *servers)
{
	char path[CLI_PATH_SIZE];
	const struct dirent *entry;
	DIR *directory;

	FW_TRY(cli_state_path("alerts", false, path));
	directory = path[0] ? opendir(path) : NULL;
	if (!directory)
		return path[0] && errno != ENOENT ? fw_error_from_errno(FW_HERE, errno, path)
						  : NULL;
	/* No other thread uses this stream. */
	/* cppcheck-suppress readdirCalled */
	while ((entry = readdir(directory))) {
		const char *dot = strrchr(entry->d_name, '.');

		if (dot && strcmp(dot, ".json") == 0)
			take_file(servers, dirfd(directory), entry->d_name);
	}
	(void)closedir(directory);
	return NULL;
}

/* ---- a store that servers share ------------------------------------------------- */

struct rows {
	struct servers *servers;
	fw_error *err;
};

static void take_row(void *ctx, const struct fw_store_row *row)
{
	struct rows *rows = ctx;

	if (!rows->err)
		rows->err = keep(rows->servers, row->value, strlen(row->value), row->key);
}

static fw_error *look_in_store(struct servers *servers, const char *url)
{
	const struct fw_store_options reader = { .is_reader = true };
	struct rows rows = { .servers = servers };
	struct fw_store *store = NULL;
	fw_error *err;

	FW_TRY(fw_store_open(url, &reader, &store));
	err = fw_alerting_share_list(store, take_row, &rows);
	fw_store_free(store);
	if (err)
		fw_error_free(rows.err);
	return err ? err : rows.err;
}

/* ---- asking -------------------------------------------------------------------- */

static size_t take_bytes(char *data, size_t size, size_t count, void *ctx)
{
	struct fw_buf *text = ctx;

	fw_buf_put(text, data, size * count);
	return text->state == FW_BUF_OK ? size * count : 0;
}

static fw_error *fetch(CURL *easy, const char *url, struct curl_slist *headers,
		       struct fw_buf *text, struct servers *servers)
{
	CURLcode result;
	long status = 0;

	(void)curl_easy_setopt(easy, CURLOPT_URL, url);
	(void)curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	(void)curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
	(void)curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)REQUEST_S);
	(void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, headers);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_bytes);
	(void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, text);
	result = curl_easy_perform(easy);
	if (result != CURLE_OK)
		return fw_error_from_curl(FW_HERE, (int)result, url);
	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
	if (status != 200)
		return fw_error_from_http(FW_HERE, (int)status, NULL, 0, url);
	return keep(servers, text->text ? text->text : "", text->len, url);
}

static fw_error *ask(struct servers *servers, const char *base, const char *token_file)
{
	size_t len = strlen(base);
	struct curl_slist *headers = NULL;
	char token[1024] = "", url[2048], line[1100];
	struct fw_buf text;
	fw_error *err;
	CURL *easy;

	if (token_file)
		FW_TRY(cli_read_first_line(token_file, "--token-file", token, sizeof token));
	/* The URL that a server prints is the one of its endpoint. */
	if (len > 4 && strcmp(base + len - 4, "/mcp") == 0)
		len -= 4;
	while (len && base[len - 1] == '/')
		len--;
	if (len + sizeof "/alerts" > sizeof url)
		return cli_usage("the URL is too long");
	(void)snprintf(url, sizeof url, "%.*s/alerts", (int)len, base);
	FW_TRY(fw_curl_load());
	easy = curl_easy_init();
	if (!easy)
		return fw_raise_internal_out_of_memory();
	if (token[0]) {
		(void)snprintf(line, sizeof line, "Authorization: Bearer %s", token);
		headers = curl_slist_append(headers, line);
	}
	fw_buf_init(&text, STATE_BYTES);
	err = fetch(easy, url, headers, &text, servers);
	fw_buf_clear(&text);
	curl_slist_free_all(headers);
	curl_easy_cleanup(easy);
	return err;
}

/* ---- showing ------------------------------------------------------------------- */

static void put_json(const struct servers *servers)
{
	cli_putc('[');
	for (size_t i = 0; i < servers->count; i++) {
		struct fw_buf text;

		fw_buf_init(&text, STATE_BYTES);
		fw_buf_value(&text, yyjson_doc_get_root(servers->docs[i]));
		if (i)
			cli_putc(',');
		if (text.state == FW_BUF_OK)
			cli_put(text.text, text.len);
		fw_buf_clear(&text);
	}
	cli_puts("]\n");
}

static void put_cell(yyjson_val *alert, const char *member, size_t width)
{
	const char *text = yyjson_get_str(yyjson_obj_get(alert, member));
	char harmless[256];

	cli_make_harmless(text ? text : "", harmless, sizeof harmless);
	cli_cell(harmless, width);
}

static void put_alert(yyjson_val *server, yyjson_val *alert)
{
	const char *name;
	char events[24];

	put_cell(alert, "severity", 10);
	put_cell(alert, "code", 30);
	put_cell(alert, "client", 24);
	put_cell(alert, "since", 26);
	(void)snprintf(events, sizeof events, "%llu",
		       (unsigned long long)yyjson_get_uint(yyjson_obj_get(alert, "events")));
	cli_cell(events, 8);
	/* Behind a balancer all of them may have the same URL. */
	name = yyjson_get_str(yyjson_obj_get(server, "replica"));
	if (name)
		cli_put_harmless(name);
	if (name)
		cli_putc(' ');
	name = yyjson_get_str(yyjson_obj_get(server, "server"));
	cli_put_harmless(name ? name : "");
	cli_putc('\n');
}

static void put_table(const struct servers *servers)
{
	static const char *const heads[COLUMNS] = { "SEVERITY", "CODE",   "CLIENT",
						    "SINCE",    "EVENTS", "SERVER" };
	static const size_t widths[COLUMNS - 1] = { 10, 30, 24, 26, 8 };
	size_t firing = 0;

	for (size_t i = 0; i < servers->count; i++) {
		yyjson_val *root = yyjson_doc_get_root(servers->docs[i]);
		yyjson_arr_iter at = yyjson_arr_iter_with(yyjson_obj_get(root, "firing"));
		yyjson_val *alert;

		while ((alert = yyjson_arr_iter_next(&at))) {
			for (size_t c = 0; !firing && c < COLUMNS - 1; c++)
				cli_cell(heads[c], widths[c]);
			if (!firing++)
				cli_printf("%s\n", heads[COLUMNS - 1]);
			put_alert(root, alert);
		}
	}
	if (!servers->count)
		cli_puts("no server is running\n");
	else if (!firing)
		cli_puts("nothing is firing\n");
}

static int run(const cli_args *args)
{
	struct servers servers = { NULL, 0 };
	fw_error *err = NULL;

	if (args->operand_count > 0)
		err = cli_usage("faultwire alerts takes no operand; found \"%s\"",
				args->operands[0]);
	else if (cli_given(args, TOKEN_FILE) && !cli_given(args, URL))
		err = cli_usage("--token-file requires --url");
	else if (cli_given(args, URL) && cli_given(args, STORE))
		err = cli_usage("--url and --store cannot both be given");
	else if (cli_given(args, STORE))
		err = look_in_store(&servers, args->values[STORE]);
	else if (cli_given(args, URL))
		err = ask(&servers, args->values[URL], args->values[TOKEN_FILE]);
	else
		err = look_here(&servers);
	if (!err && cli_given(args, JSON))
		put_json(&servers);
	else if (!err)
		put_table(&servers);
	while (servers.count)
		yyjson_doc_free(servers.docs[--servers.count]);
	free(servers.docs);
	return err ? cli_fail(err) : CLI_DONE;
}

static const cli_example examples[] = {
	{ "Alerts in the servers of this user:", "faultwire alerts" },
	{ "The same as JSON:", "faultwire alerts --json" },
	{ NULL, NULL },
};

const cli_command cli_command_alerts = {
	.name = "alerts",
	.summary = "show alerts that are firing",
	.synopsis = "[--json] [--url URL [--token-file FILE] | --store URL]",
	.description = "Shows the alerts that are firing in running servers. A critical code "
		       "fires on a single failure, a warning on more than 5 failures of one "
		       "client within 5 minutes; an alert is resolved when there are fewer "
		       "failures than the threshold.\n"
		       "\n"
		       "Without --url it shows the servers that this user runs on this "
		       "machine, over HTTP or standard input and output.",
	CLI_OPTIONS(options),
	.operands = CLI_NOTHING,
	.examples = examples,
	.run = run,
};
