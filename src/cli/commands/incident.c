/*
 * incident.c - lists incidents, and shows one by its id.
 *
 * It reads the database while servers may write to it.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "cli/commands/incident_page.h"
#include "cli/commands/lookup.h"
#include "cli/commands/registry_file.h"
#include "cli/stamp.h"
#include "cli/state.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "observe/incident/incident.h"

enum { LIST, SHOW };
enum { CODE, TOOL, CLIENT, SESSION, SINCE, UNTIL, LIMIT, JSON, DATABASE, REGISTRY };

enum { LIMIT_DEFAULT = 50, JSON_MAX = 16 << 20, ID_SHORT = 21 };

static const cli_option options[] = {
	[CODE] = { "code", "CODE", 'c', CLI_CODE, "list: only this code (of any contract)." },
	[TOOL] = { "tool", "NAME", 0, CLI_TEXT, "list: only this tool." },
	[CLIENT] = { "client", "NAME", 0, CLI_TEXT, "list: only this client." },
	[SESSION] = { "session", "ID", 0, CLI_TEXT, "list: only this session." },
	[SINCE] = { "since", "TIME", 0, CLI_TEXT,
		    "list: only from this time on. A time such as 2026-01-15T12:00:00Z, or an "
		    "age: 90s, 30m, 2h, 7d." },
	[UNTIL] = { "until", "TIME", 0, CLI_TEXT,
		    "list: only before this time, given as for --since." },
	[LIMIT] = { "limit", "N", 'n', CLI_TEXT,
		    "list: maximum number of incidents, newest first; by default 50; 0: no "
		    "limit." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print JSON." },
	[DATABASE] = { "incidents", "FILE|URL", 0, CLI_FILE,
		       "Database to read; by default the one that faultwire serve writes." },
	[REGISTRY] = { "registry", "FILE", 'r', CLI_FILE,
		       "Also explain the codes of this file." },
};

/* ---- the command line ---------------------------------------------------------------- */

static fw_error *read_time(const char *option, const char *text, int64_t *ret_unix_ms)
{
	if (cli_time_read(text, ret_unix_ms) || cli_ago_read(text, 1000000, ret_unix_ms))
		return NULL;
	return cli_usage("%s must be a time such as 2026-01-15T12:00:00Z, or an age such as "
			 "2h; found \"%s\"",
			 option, text);
}

static fw_error *read_limit(const char *text, size_t *ret_limit)
{
	uint64_t number;

	if (!fw_decimal_read(text, 0, SIZE_MAX / 2, &number))
		return cli_usage("--limit must be a number; found \"%s\"", text);
	*ret_limit = (size_t)number;
	return NULL;
}

static fw_error *read_filter(const cli_args *args, const fw_registry *registry,
			     struct fw_incident_filter *ret_filter)
{
	struct fw_incident_filter filter = {
		.code = args->values[CODE],
		.tool = args->values[TOOL],
		.client = args->values[CLIENT],
		.session = args->values[SESSION],
		.limit = LIMIT_DEFAULT,
	};
	cli_meaning meanings[FW_CONTRACT_COUNT];

	if (cli_given(args, SINCE))
		FW_TRY(read_time("--since", args->values[SINCE], &filter.since_ms));
	if (cli_given(args, UNTIL))
		FW_TRY(read_time("--until", args->values[UNTIL], &filter.until_ms));
	if (cli_given(args, LIMIT))
		FW_TRY(read_limit(args->values[LIMIT], &filter.limit));
	/* Incidents contain the canonical code; users may know the code of their contract. */
	if (filter.code && cli_lookup(registry, filter.code, FW_AUTO, meanings))
		filter.code = meanings[0].row->code;
	*ret_filter = filter;
	return NULL;
}

/* ---- list ------------------------------------------------------------------------------ */

struct table {
	size_t id, code, tool, client; /* widths */
	size_t rows;
	struct fw_buf json;
};

static size_t wider(size_t width, const char *text)
{
	size_t columns = text ? cli_columns(text) : 1;

	return columns > width ? columns : width;
}

static void measure(void *ctx, const struct fw_incident *incident)
{
	struct table *table = ctx;

	table->code = wider(table->code, incident->code);
	table->tool = wider(table->tool, incident->tool);
	table->client = wider(table->client, incident->client);
	table->rows++;
}

/* A column with text that a peer wrote. */
static void put_cell(const char *text, size_t width)
{
	char harmless[128];

	cli_make_harmless(text && *text ? text : "-", harmless,
			  width + 1 < sizeof harmless ? width + 1 : sizeof harmless);
	cli_cell(harmless, width < sizeof harmless ? width + 2 : sizeof harmless);
}

static void put_row(void *ctx, const struct fw_incident *incident)
{
	const struct table *table = ctx;
	char time_text[FW_TIME_SIZE];

	(void)fw_time_text(incident->time_ms, time_text);
	time_text[10] = ' ';
	time_text[19] = '\0';
	cli_cell(time_text, 21);
	put_cell(incident->id, table->id);
	put_cell(incident->code, table->code);
	put_cell(incident->tool, table->tool);
	put_cell(incident->client, table->client);
	cli_put_harmless(incident->message);
	cli_putc('\n');
}

static void put_json_row(void *ctx, const struct fw_incident *incident)
{
	struct table *table = ctx;

	cli_puts(table->rows++ ? ",\n" : "\n");
	fw_buf_reset(&table->json, 64 * 1024);
	fw_incident_put_json(&table->json, incident);
	cli_put_json(table->json.text, table->json.len);
}

/* Why a list is empty: none matches, or the database was never made. */
static void remark_empty(const struct fw_store *store)
{
	char path[CLI_PATH_SIZE] = "";
	fw_error *err = store ? NULL : cli_state_path("incidents.db", false, path);

	fw_error_free(err);
	if (store)
		cli_remark("no matching incidents");
	else if (path[0])
		cli_remark("no incidents: there is no %s; --incidents names another one", path);
	else
		cli_remark("no incidents: HOME is not set, and --incidents names none");
}

static fw_error *put_list(struct fw_store *store, const struct fw_incident_filter *filter,
			  bool json)
{
	struct table table = { .id = 39, .code = 4, .tool = 4, .client = 6 };
	fw_error *err;

	/* On a terminal the id is shortened to what identifies it. */
	if (isatty(STDOUT_FILENO))
		table.id = ID_SHORT;
	fw_buf_init(&table.json, JSON_MAX);
	if (json) {
		cli_putc('[');
		err = store ? fw_incident_list(store, filter, put_json_row, &table) : NULL;
		cli_puts("\n]\n");
		fw_buf_clear(&table.json);
		return err;
	}
	if (store)
		FW_TRY(fw_incident_list(store, filter, measure, &table));
	if (!table.rows) {
		remark_empty(store);
		return NULL;
	}
	cli_cell("TIME (UTC)", 21);
	cli_cell("INCIDENT", table.id + 2);
	cli_cell("CODE", table.code + 2);
	cli_cell("TOOL", table.tool + 2);
	cli_cell("CLIENT", table.client + 2);
	cli_puts("MESSAGE\n");
	return fw_incident_list(store, filter, put_row, &table);
}

/* ---- show ------------------------------------------------------------------------------- */

struct showing {
	const fw_registry *registry;
	bool json;
	fw_error *err;
};

static void show(void *ctx, const struct fw_incident *incident)
{
	struct showing *showing = ctx;

	showing->err = showing->json ? cli_incident_json(showing->registry, incident)
				     : cli_incident_page(showing->registry, incident);
}

static fw_error *put_shown(struct fw_store *store, const fw_registry *registry,
			   const cli_args *args)
{
	struct showing showing = { .registry = registry, .json = cli_given(args, JSON) };
	fw_error *first = NULL;

	for (size_t i = 1; i < args->operand_count; i++) {
		fw_error *err;

		if (i > 1 && !showing.json)
			cli_puts("\n\n");
		if (store)
			err = fw_incident_get(store, args->operands[i], show, &showing);
		else
			err = fw_raise_incident_not_found(args->operands[i]);
		if (!err)
			err = showing.err;
		showing.err = NULL;
		if (first && err)
			(void)cli_fail(first);
		first = err ? err : first;
	}
	return first;
}

/* ---- the command -------------------------------------------------------------------------- */

static fw_error *carry_out(const cli_args *args, const fw_registry *registry,
			   struct fw_store **store)
{
	struct fw_incident_filter filter;

	if (args->action == LIST) {
		if (args->operand_count > 1)
			return cli_usage(
				"faultwire incident list takes no operand; found \"%s\"",
				args->operands[1]);
		FW_TRY(read_filter(args, registry, &filter));
		FW_TRY(cli_store_open(args->values[DATABASE], "incidents.db", true, store));
		return put_list(*store, &filter, cli_given(args, JSON));
	}
	if (args->operand_count < 2)
		return cli_usage("no id is given: faultwire incident show ID");
	FW_TRY(cli_store_open(args->values[DATABASE], "incidents.db", true, store));
	return put_shown(*store, registry, args);
}

static int run(const cli_args *args)
{
	struct fw_store *store = NULL;
	fw_registry *registry = NULL;
	fw_error *err;

	if (!cli_registry_load(args->values[REGISTRY], &registry))
		return CLI_FAILED;
	err = carry_out(args, registry, &store);
	fw_store_free(store);
	fw_registry_free(registry);
	return err ? cli_fail(err) : CLI_DONE;
}

static const cli_example examples[] = {
	{ "Failures in the last hour:", "faultwire incident list --since 1h" },
	{ "Everything about one incident, by its id or a prefix of it:",
	  "faultwire incident show inc_20260115_abc" },
	{ "As JSON:", "faultwire incident list --code FILE_NOT_FOUND --json" },
	{ NULL, NULL },
};

static const char *const action_words[] = { [LIST] = "list", [SHOW] = "show", NULL };

const cli_command cli_command_incident = {
	.name = "incident",
	.summary = "list incidents, or show one",
	.synopsis = "list [OPTION]... | show ID...",
	.description =
		"Looks up failures in the database that faultwire serve writes. list prints "
		"the newest first, one line each. show prints everything about one: what "
		"failed, where, when, how often, why, and what to do about it. ID may be any "
		"unique prefix.\n"
		"\n"
		"The database may be read while servers write to it. An incident is written "
		"shortly after the reply, also if the server is killed and started again.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_TEXT,
	.examples = examples,
	.run = run,
};
