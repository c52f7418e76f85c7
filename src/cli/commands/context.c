/*
 * context.c - context caches from the command line: build, resolve, inspect,
 * verify, list.
 *
 * The contract defines the exit statuses, one per code, so that scripts need not parse
 * messages. `resolve` is for programs: it prints exactly the bytes of the tool's result,
 * and reports errors in the contract.
 */
#include "cli/command.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <faultwire/faultwire.h>

#include "base/clock.h"
#include "base/decimal.h"
#include "base/limits.h"
#include "cli/terminal/interrupt.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "tools/context/context.h"

enum { SOURCES, CACHE, CACHE_ROOT, QUERY, BUDGET, FORCE, JSON, THREADS };

static const cli_option options[] = {
	[SOURCES] = { "sources", "DIR", 's', CLI_FILE,
		      "build: read every .md file below this directory." },
	[CACHE] = { "cache", "PATH", 'c', CLI_FILE,
		    "Path of the cache, or with --cache-root its name." },
	[CACHE_ROOT] = { "cache-root", "DIR", 0, CLI_FILE,
			 "Directory that contains the caches. For list, the environment "
			 "variable CONTEXT_CACHE_ROOT has the same effect." },
	[QUERY] = { "query", "TEXT", 'q', CLI_TEXT,
		    "resolve: words to search for; may be empty." },
	[BUDGET] = { "budget", "TOKENS", 'b', CLI_TEXT,
		     "resolve: maximum number of tokens of all documents together; a token is "
		     "four bytes." },
	[FORCE] = { "force", NULL, 'f', CLI_NOTHING,
		    "build: replace an existing cache, atomically." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING,
		   "Print JSON, and report errors in contract context-v0; resolve always "
		   "does." },
	[THREADS] = { "threads", "N", 0, CLI_TEXT,
		      "Number of threads, at most 8; by default one per CPU." },
};

static const cli_status statuses[] = {
	{ 0, "done" },
	{ 1, "the command line is invalid" },
	{ 2, "invalid_query" },
	{ 3, "invalid_budget" },
	{ 4, "cache_missing" },
	{ 5, "cache_invalid; for verify: there are violations" },
	{ 6, "io_error" },
	{ 7, "internal_error" },
	{ 0, NULL },
};

enum { MISUSED = 1, CACHE_INVALID = 5, INTERNAL_ERROR = 7 };

/* ---- failing -------------------------------------------------------------------------- */

static int fail(fw_error *err)
{
	static const char *const codes[] = {
		"invalid_query", "invalid_budget", "cache_missing",
		"cache_invalid", "io_error",       "internal_error"
	};
	const char *code = fw_error_row(err)->context_v0;
	int status = INTERNAL_ERROR;

	for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
		if (strcmp(codes[i], code) == 0)
			status = (int)i + 2;
	if (strcmp(fw_error_name(err), "cli.usage") == 0)
		status = MISUSED;
	/* For people the message names the violated rule; in the contract it is fixed. */
	if (fw_error_detail(err) && fw_error_code(err) == FW_CACHE_INVALID)
		fw_error_add_cause(err, fw_error_detail(err), NULL, NULL);
	(void)cli_fail(err);
	return status;
}

/* ---- a long run -------------------------------------------------------------------------- */

static void on_progress(void *ctx, uint64_t documents, uint64_t total_documents, uint64_t bytes,
			uint64_t total_bytes)
{
	(void)ctx;
	(void)bytes;
	(void)total_bytes;
	cli_progress_total(total_documents);
	cli_progress_step(documents, documents);
}

static fw_error *read_run(const cli_args *args, struct fw_context_run *run)
{
	*run = (struct fw_context_run){ .is_cancelled = cli_is_interrupted };
	return cli_threads_read(args->values[THREADS], &run->threads);
}

static fw_error *open_store(const cli_args *args, struct fw_context_store **ret_store)
{
	if (!cli_given(args, CACHE))
		return cli_usage("option --cache is missing");
	return fw_context_store_new(args->values[CACHE_ROOT], ret_store);
}

static void put_buf(struct fw_buf *buf)
{
	cli_put(buf->text, buf->len);
	fw_buf_clear(buf);
}

/* ---- build ---------------------------------------------------------------------------------- */

static int64_t now_ms(void)
{
	const char *fixed = getenv("SOURCE_DATE_EPOCH");
	uint64_t seconds;

	/* For reproducible builds. */
	if (fixed && fw_decimal_read(fixed, 0, 253402300799, &seconds))
		return (int64_t)seconds * 1000;
	return fw_unix_ms();
}

static void put_built(const struct fw_context_built *built, bool json)
{
	if (json) {
		cli_json_open(NULL, '{');
		cli_json_string("cache_version", built->cache_version);
		cli_json_number("document_count", (int64_t)built->documents);
		cli_json_number("source_bytes", (int64_t)built->bytes);
		cli_json_number("links_left_out", (int64_t)built->links);
		cli_json_close('}');
		cli_json_line_end();
		return;
	}
	cli_printf("built: %zu document%s, %s\n", built->documents,
		   built->documents == 1 ? "" : "s", built->cache_version);
	if (built->links)
		cli_remark("%zu symbolic link%s skipped", built->links,
			   built->links == 1 ? " was" : "s were");
}

static fw_error *build(const cli_args *args, int *ret_status)
{
	struct fw_context_build options_of = { .sources = args->values[SOURCES],
					       .cache = args->values[CACHE],
					       .force = cli_given(args, FORCE) };
	struct fw_context_built built;
	fw_error *err;

	(void)ret_status;
	if (!options_of.sources)
		return cli_usage("option --sources is missing");
	if (!options_of.cache)
		return cli_usage("option --cache is missing");
	if (cli_given(args, CACHE_ROOT))
		return cli_usage("build takes the full path with --cache, not --cache-root");
	FW_TRY(read_run(args, &options_of.run));
	options_of.created_ms = now_ms();
	options_of.run.progress = on_progress;
	cli_interrupt_watch();
	cli_progress_count("building", "documents");
	err = fw_context_build(&options_of, &built);
	cli_progress_stop();
	if (!err)
		put_built(&built, cli_given(args, JSON));
	return err;
}

/* ---- resolve ------------------------------------------------------------------------------------ */

static fw_error *resolve(const cli_args *args, int *ret_status)
{
	const char *budget = args->values[BUDGET];
	struct fw_context_request request = { .cache = args->values[CACHE],
					      .query = args->values[QUERY],
					      .max_bytes = FW_LIMIT_CONTEXT_OUTPUT_BYTES };
	struct fw_context_store *store = NULL;
	struct fw_context_run run;
	struct fw_buf out;
	fw_error *err;

	(void)ret_status;
	FW_TRY(read_run(args, &run));
	FW_TRY(open_store(args, &store));
	request.cache_len = strlen(request.cache);
	request.query_len = request.query ? strlen(request.query) : 0;
	if (!budget || !fw_context_budget_read(budget, strlen(budget), &request.budget))
		request.budget = -1;
	fw_buf_init(&out, request.max_bytes);
	err = fw_context_scan(store, &request, &run, &out);
	if (!err)
		cli_put(out.text, out.len);
	fw_buf_clear(&out);
	fw_context_store_free(store);
	return err;
}

/* ---- inspect --------------------------------------------------------------------------------------- */

static void put_facts(const struct fw_context_facts *facts)
{
	cli_printf("version    %s\n", facts->cache_version);
	cli_printf("documents  %llu\n", (unsigned long long)facts->document_count);
	cli_printf("bytes      %llu\n", (unsigned long long)facts->total_bytes);
	cli_printf("valid      %s\n",
		   facts->valid ? "yes" : "no: faultwire context verify says why");
}

static fw_error *inspect(const cli_args *args, int *ret_status)
{
	const char *cache = args->values[CACHE];
	struct fw_context_store *store = NULL;
	struct fw_context_facts facts;
	struct fw_context_run run;
	struct fw_buf out;
	fw_error *err;

	(void)ret_status;
	FW_TRY(read_run(args, &run));
	FW_TRY(open_store(args, &store));
	err = fw_context_inspect(store, cache, strlen(cache), &run, &facts);
	fw_context_store_free(store);
	if (err)
		return err;
	if (cli_given(args, JSON)) {
		fw_buf_init(&out, FW_LIMIT_CONTEXT_OUTPUT_BYTES);
		fw_context_put_facts(&out, &facts);
		put_buf(&out);
	} else {
		put_facts(&facts);
	}
	return NULL;
}

/* ---- verify ------------------------------------------------------------------------------------------- */

static void put_violation(void *ctx, const struct fw_context_violation *violation)
{
	size_t *count = ctx;

	++*count;
	cli_progress_stop();
	cli_put_harmless(violation->what ? violation->what : "cache");
	cli_printf(": %s [%s, %s]\n", violation->text, violation->invariant_name,
		   violation->rule);
}

static void put_violation_json(void *ctx, const struct fw_context_violation *violation)
{
	size_t *count = ctx;

	++*count;
	cli_json_open(NULL, '{');
	cli_json_string("invariant", violation->invariant_name);
	cli_json_string("rule", violation->rule);
	cli_json_string("subject", violation->what);
	cli_json_string("text", violation->text);
	cli_json_close('}');
}

static fw_error *verify_all(const cli_args *args, const struct fw_context_store *store,
			    struct fw_context_run *run, struct fw_context_facts *facts)
{
	const char *cache = args->values[CACHE];
	bool json = cli_given(args, JSON);
	size_t count = 0;
	fw_error *err;

	run->progress = on_progress;
	cli_progress_count("verifying", "documents");
	if (json) {
		cli_json_open(NULL, '{');
		cli_json_open("violations", '[');
	}
	err = fw_context_verify(store, cache, strlen(cache), run,
				json ? put_violation_json : put_violation, &count, facts);
	cli_progress_stop();
	if (err) {
		/* An incomplete report would look like a complete one. */
		cli_output_drop();
		return err;
	}
	if (json) {
		cli_json_close(']');
		cli_json_string("cache_version", facts->cache_version);
		cli_json_number("document_count", (int64_t)facts->document_count);
		cli_json_number("total_bytes", (int64_t)facts->total_bytes);
		cli_json_bool("valid", facts->valid);
		cli_json_close('}');
		cli_json_line_end();
	} else if (facts->valid) {
		cli_printf("valid: %llu document%s, %s\n",
			   (unsigned long long)facts->document_count,
			   facts->document_count == 1 ? "" : "s", facts->cache_version);
	} else {
		cli_printf("invalid: %zu violation%s\n", count, count == 1 ? "" : "s");
	}
	return NULL;
}

static fw_error *verify(const cli_args *args, int *ret_status)
{
	struct fw_context_store *store = NULL;
	struct fw_context_facts facts;
	struct fw_context_run run;
	fw_error *err;

	FW_TRY(read_run(args, &run));
	FW_TRY(open_store(args, &store));
	err = verify_all(args, store, &run, &facts);
	fw_context_store_free(store);
	if (!err && !facts.valid)
		*ret_status = CACHE_INVALID;
	return err;
}

/* ---- list ------------------------------------------------------------------------------------------------ */

static void put_listed(void *ctx, const char *name, bool has_manifest)
{
	(void)ctx;
	cli_put_harmless(name);
	cli_puts(has_manifest ? "\n" : "  (no manifest)\n");
}

static fw_error *list(const cli_args *args, int *ret_status)
{
	const char *root = args->values[CACHE_ROOT];
	struct fw_context_store *store = NULL;
	struct fw_buf out;
	fw_error *err;

	(void)ret_status;
	if (!root)
		root = getenv("CONTEXT_CACHE_ROOT");
	if (!root || !*root)
		return cli_usage("option --cache-root is missing");
	FW_TRY(fw_context_store_new(root, &store));
	if (cli_given(args, JSON)) {
		fw_buf_init(&out, FW_LIMIT_CONTEXT_OUTPUT_BYTES);
		err = fw_context_put_list(store, &out);
		if (!err)
			cli_put(out.text, out.len);
		fw_buf_clear(&out);
	} else {
		err = fw_context_list(store, put_listed, NULL);
	}
	fw_context_store_free(store);
	return err;
}

/* ---- the command --------------------------------------------------------------------------------------------- */

static int run(const cli_args *args)
{
	static const struct {
		fw_error *(*run)(const cli_args *args, int *ret_status);
		bool for_programs;
	} actions[] = {
		{ build, false },  { resolve, true }, { inspect, false },
		{ verify, false }, { list, false },
	};
	int status = CLI_DONE;
	fw_error *err;

	if (args->operand_count != 1)
		return fail(
			cli_usage("faultwire context %s takes no operand", args->operands[0]));
	err = actions[args->action].run(args, &status);
	if (err && fw_error_code(err) != FW_CLI_USAGE &&
	    (actions[args->action].for_programs || cli_given(args, JSON)))
		cli_report_by_default_in(FW_CONTEXT_V0);
	return err ? fail(err) : status;
}

static const cli_example examples[] = {
	{ "Build a cache from a directory of documents:",
	  "mkdir -p docs && echo '# Deploy with care' "
	  ">docs/deploy.md && faultwire context build "
	  "--sources docs --cache docs-cache --force" },
	{ "The best documents for a query, within 4000 tokens:",
	  "faultwire context resolve --cache docs-cache --query 'how to deploy' --budget "
	  "4000" },
	{ "Check that it is complete and unchanged:",
	  "faultwire context verify --cache docs-cache" },
	{ NULL, NULL },
};

static const char *const action_words[] = { "build",  "resolve", "inspect",
					    "verify", "list",    NULL };

const cli_command cli_command_context = {
	.name = "context",
	.summary = "build, resolve, inspect, verify and list context caches",
	.synopsis = "build|resolve|inspect|verify|list [OPTION]...",
	.description =
		"A context cache is a directory of documents with their hashes; it is built "
		"once and never changed. The same query to the same cache always gives the "
		"same bytes.\n"
		"\n"
		"build creates a cache from --sources, completely or not at all. resolve "
		"prints the documents that best fit --query within --budget, as one line of "
		"JSON. inspect prints the version and size of a cache. verify reports "
		"everything in it that is missing, changed or added. list prints the names of "
		"the caches below --cache-root.\n"
		"\n"
		"The environment variable SOURCE_DATE_EPOCH fixes the time that build records.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_FILE,
	.examples = examples,
	.statuses = statuses,
	.misused = MISUSED,
	.run = run,
};
