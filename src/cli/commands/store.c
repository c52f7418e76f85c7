/*
 * store.c - makes the tables of a store, checks it, and copies it.
 */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>

#include <yyjson.h>

#include <faultwire/faultwire.h>
#include <faultwire/raise.h>

#include "base/buf.h"
#include "base/json.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "store/store_admin.h"

enum { ROLE, JSON };
enum { REPORT_BYTES = 64 * 1024, URL_SIZE = 512 };

static const cli_option options[] = {
	[ROLE] = { "runtime-role", "NAME", 0, CLI_TEXT,
		   "migrate: let this role of the database use the tables, as servers do; it "
		   "must exist." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print JSON." },
};

/* ---- migrate -------------------------------------------------------------------- */

static fw_error *migrate(const cli_args *args)
{
	struct fw_store_migration done = { 0 };
	char shown[URL_SIZE];

	FW_TRY(fw_store_migrate(args->operands[1], args->values[ROLE], &done));
	fw_store_url_show(args->operands[1], shown, sizeof shown);
	if (cli_given(args, JSON)) {
		cli_json_open(NULL, '{');
		cli_json_string("store", shown);
		cli_json_number("from", done.from);
		cli_json_number("to", done.to);
		cli_json_close('}');
		cli_json_line_end();
	} else if (done.from == done.to) {
		cli_printf("%s: version %d, nothing to do\n", shown, done.to);
	} else {
		cli_printf("%s: migrated from version %d to %d\n", shown, done.from, done.to);
	}
	return NULL;
}

/* ---- check ------------------------------------------------------------------------ */

static void put_line(const char *key, yyjson_val *value)
{
	char *text = yyjson_val_write(value, 0, NULL);
	char harmless[256];

	cli_make_harmless(yyjson_is_str(value) ? yyjson_get_str(value)
			  : text               ? text
					       : "",
			  harmless, sizeof harmless);
	cli_cell(key, 20);
	cli_printf("%s\n", harmless);
	free(text);
}

/* A store that a server could not write is not in order. */
static fw_error *put_report(const char *shown, const struct fw_buf *report, bool json)
{
	yyjson_doc *doc =
		fw_json_read(report->text, report->len,
			     (struct fw_json_limits){ REPORT_BYTES, 0 }, 0, NULL, NULL);
	yyjson_val *may_write = yyjson_obj_get(yyjson_doc_get_root(doc), "may_write");
	bool is_usable = !may_write || yyjson_is_true(may_write);
	size_t index, max;
	yyjson_val *key, *value;

	if (json)
		cli_printf("%s\n", report->text);
	else
		yyjson_obj_foreach(yyjson_doc_get_root(doc), index, max, key, value)
			put_line(yyjson_get_str(key), value);
	yyjson_doc_free(doc);
	if (is_usable)
		return NULL;
	return fw_error_wrap(fw_raise_dependency_unavailable("the store"), FW_HERE,
			     "the role may not write %s: run faultwire store migrate with "
			     "--runtime-role as the owner",
			     shown);
}

static fw_error *check(const cli_args *args)
{
	struct fw_buf report;
	char shown[URL_SIZE];
	fw_error *err;

	fw_store_url_show(args->operands[1], shown, sizeof shown);
	fw_buf_init(&report, REPORT_BYTES);
	err = fw_store_check(args->operands[1], &report);
	if (!err && report.state != FW_BUF_OK)
		err = fw_raise_internal_out_of_memory();
	if (!err)
		err = put_report(shown, &report, cli_given(args, JSON));
	fw_buf_clear(&report);
	return err;
}

/* ---- copy --------------------------------------------------------------------------- */

static void on_progress(void *ctx, const struct fw_store_copied *copied)
{
	(void)ctx;
	cli_progress_step(copied->rows + copied->incidents, copied->rows + copied->incidents);
}

static fw_error *copy(const cli_args *args)
{
	struct fw_store_copied copied = { 0 };
	fw_error *err;

	cli_progress_count("copying", "rows and incidents");
	err = fw_store_copy(args->operands[1], args->operands[2], on_progress, NULL, &copied);
	cli_progress_stop();
	if (err)
		return err;
	if (cli_given(args, JSON)) {
		cli_json_open(NULL, '{');
		cli_json_number("rows", (int64_t)copied.rows);
		cli_json_number("incidents", (int64_t)copied.incidents);
		cli_json_close('}');
		cli_json_line_end();
	} else {
		cli_printf("copied %llu rows and %llu incidents\n",
			   (unsigned long long)copied.rows,
			   (unsigned long long)copied.incidents);
	}
	return NULL;
}

/* ---- the command ---------------------------------------------------------------------- */

static const struct {
	size_t operands; /* after the action */
	fw_error *(*run)(const cli_args *args);
} actions[] = { { 1, migrate }, { 1, check }, { 2, copy } };

static fw_error *carry_out(const cli_args *args)
{
	size_t operands = actions[args->action].operands;

	if (args->operand_count != operands + 1)
		return cli_usage("faultwire store %s takes %s", args->operands[0],
				 operands == 2 ? "two stores: FROM and TO" : "one store: URL");
	if (cli_given(args, ROLE) && actions[args->action].run != migrate)
		return cli_usage("--runtime-role goes with faultwire store migrate");
	return actions[args->action].run(args);
}

static int run(const cli_args *args)
{
	fw_error *err = carry_out(args);

	return err ? cli_fail(err) : CLI_DONE;
}

static const cli_example examples[] = {
	{ "Make the tables as their owner, for servers that connect as faultwire_run:",
	  "faultwire store migrate postgresql://owner@db/faultwire --runtime-role "
	  "faultwire_run" },
	{ "Can a server use the store?",
	  "faultwire store check postgresql://faultwire_run@db/faultwire" },
	{ "Take the data of one machine along:",
	  "faultwire store copy ~/.local/state/faultwire/store.db "
	  "postgresql://faultwire_run@db/faultwire" },
	{ NULL, NULL },
};

static const char *const action_words[] = { "migrate", "check", "copy", NULL };

const cli_command cli_command_store = {
	.name = "store",
	.summary = "make, check or copy the store of a fleet",
	.synopsis = "migrate URL | check URL | copy FROM TO",
	.description =
		"A store is a file (sqlite:PATH, or a path) or a PostgreSQL database "
		"(postgresql://USER@HOST/DATABASE, with everything that libpq reads: several "
		"hosts, TLS, password files).\n"
		"\n"
		"migrate makes the tables of a database, or brings them to the version of this "
		"program. Servers never do: their role needs no right to make tables. check "
		"connects as a server does and reports what it finds. copy copies tokens, "
		"budgets, reservations, keys and incidents; stop the servers of both stores "
		"first. A repeated copy into a database adds no incident twice.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
