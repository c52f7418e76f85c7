/*
 * audit.c - verifies, follows and searches an audit log.
 */
#include "cli/command.h"
#include "cli/commands/audit_anchors.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <faultwire/faultwire.h>

#include "base/decimal.h"
#include "base/limits.h"
#include "cli/commands/audit_show.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/progress.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "observe/audit/audit.h"

enum {
	JSON,
	PARTIAL,
	CONTAINS,
	ANCHORS,
	ANCHORED_AS,
	FOLLOW,
	COUNT,
	CODE,
	TOOL,
	SESSION,
	INCIDENT,
	SINCE,
	UNTIL,
	OPTIONS
};

#define LOG_NAME "audit-log.jsonl"

static const cli_option options[] = {
	[JSON] = { "json", NULL, 'j', CLI_NOTHING,
		   "Print JSON: the result of verify, or the records as stored." },
	[PARTIAL] = { "partial", NULL, 0, CLI_NOTHING,
		      "verify, accept: accept a log whose oldest files are stored elsewhere." },
	[CONTAINS] = { "contains", "HASH", 0, CLI_TEXT,
		       "verify: fail unless the log contains a record with this hash." },
	[ANCHORS] = { "anchors", "URL", 0, CLI_TEXT,
		      "verify: fail unless the log has all records that servers anchored at "
		      "this URL: file:PATH or postgresql://..." },
	[ANCHORED_AS] = { "anchored-as", "NAME", 0, CLI_TEXT,
			  "verify: name of the log in the anchors; by default the host name, a "
			  "colon and the path of the log." },
	[FOLLOW] = { "follow", NULL, 'f', CLI_NOTHING,
		     "tail: keep printing new records until interrupted." },
	[COUNT] = { "count", "N", 'n', CLI_TEXT, "tail: number of records; by default 10." },
	[CODE] = { "code", "CODE", 0, CLI_CODE,
		   "query: records with this code, canonical or kaiza." },
	[TOOL] = { "tool", "NAME", 0, CLI_TEXT, "query: records of this tool." },
	[SESSION] = { "session", "ID", 0, CLI_TEXT, "query: records of this session." },
	[INCIDENT] = { "incident", "ID", 0, CLI_TEXT, "query: the record of this incident." },
	[SINCE] = { "since", "TIME", 0, CLI_TEXT,
		    "query: records from this time on: RFC 3339, a date, or an age (90s, 15m, "
		    "2h, 7d)." },
	[UNTIL] = { "until", "TIME", 0, CLI_TEXT, "query: records up to this time." },
};

/* ---- which log ------------------------------------------------------------ */

/* A file, the log in a directory, or by default the one in the state directory. */
static fw_error *find_log(const cli_args *args, char path[CLI_PATH_SIZE])
{
	const char *given = args->operand_count > 1 ? args->operands[1] : NULL;
	char real[PATH_MAX];
	struct stat info;
	int len;

	if (args->operand_count > 2)
		return cli_usage("only one log can be given");
	if (!given) {
		FW_TRY(cli_state_path(LOG_NAME, false, path));
		return path[0] ? NULL : cli_usage("no log is given, and HOME is not set");
	}
	if (stat(given, &info) == 0 && S_ISDIR(info.st_mode))
		len = snprintf(path, CLI_PATH_SIZE, "%s/" LOG_NAME, given);
	else
		len = snprintf(path, CLI_PATH_SIZE, "%s", given);
	if (len <= 0 || len >= CLI_PATH_SIZE)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "audit log");
	/* The log of a workspace is a symbolic link; rotated files are next to its target. */
	if (lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && realpath(path, real))
		(void)snprintf(path, CLI_PATH_SIZE, "%s", real);
	return NULL;
}

/* Calls `take` for each record, oldest first, until it returns false. */
static fw_error *walk_file(const char *name, bool (*take)(void *ctx, const char *, size_t),
			   void *ctx, bool *ret_is_over)
{
	cli_input in;
	fw_error *err = cli_input_open(&in, name, FW_LIMIT_AUDIT_LINE_BYTES);

	cli_progress_start(name, in.size);
	while (!err && !*ret_is_over) {
		const char *text = NULL;
		size_t len = 0;

		err = cli_input_line(&in, &text, &len);
		if (err && fw_error_code(err) == FW_INPUT_TOO_LARGE && !in.at_end) {
			fw_error_free(err); /* not a record; verify reports it */
			err = NULL;
			continue;
		}
		if (!text)
			break;
		*ret_is_over = !take(ctx, text, len) || cli_output_failed();
		cli_progress_step(in.line, in.consumed);
	}
	cli_progress_stop();
	cli_input_close(&in);
	return err;
}

static fw_error *walk_log(const char *path, bool (*take)(void *ctx, const char *, size_t),
			  void *ctx)
{
	bool is_over = false;
	unsigned first;
	unsigned last;
	char name[CLI_PATH_SIZE];

	FW_TRY(fw_audit_rotated_range(path, &first, &last));
	for (unsigned i = first; i > 0 && i <= last && !is_over; i++)
		if (fw_audit_rotated_path(path, i, name, sizeof name)) {
			struct stat info;

			if (stat(name, &info) == 0)
				FW_TRY(walk_file(name, take, ctx, &is_over));
		}
	return is_over ? NULL : walk_file(path, take, ctx, &is_over);
}

/* ---- verify --------------------------------------------------------------- */

static void step(void *ctx, uint64_t records, uint64_t bytes, uint64_t total)
{
	bool *is_started = ctx;

	if (!*is_started)
		cli_progress_start("audit log", total);
	*is_started = true;
	cli_progress_step(records, bytes);
}

/* The head of the log that is kept outside of it. */
struct kept {
	uint64_t seq;    /* 0: there is none */
	bool is_present; /* the log contains it */
};

static void put_result_json(const struct fw_audit_report *report, const char *missing,
			    const struct kept *kept, const struct cli_anchors *anchors)
{
	bool is_whole = report->fault == FW_AUDIT_WHOLE && !missing && kept->is_present &&
			(!anchors || cli_anchors_hold(anchors));

	cli_json_open(NULL, '{');
	cli_json_bool("whole", is_whole);
	cli_json_number("files", (int64_t)report->files);
	cli_json_number("records", (int64_t)report->records);
	cli_json_number("bytes", (int64_t)report->bytes);
	cli_json_number("first_seq", (int64_t)report->first_seq);
	cli_json_number("last_seq", (int64_t)report->last_seq);
	cli_json_string("last_hash", report->last_hash);
	if (report->fault != FW_AUDIT_WHOLE) {
		cli_json_open("broken", '{');
		cli_json_string("file", report->file);
		cli_json_number("line", (int64_t)report->line);
		cli_json_string("how", fw_audit_fault_name(report->fault));
		cli_json_string("reason", report->reason);
		cli_json_close('}');
	}
	if (missing)
		cli_json_string("missing", missing);
	if (kept->seq) {
		cli_json_open("kept", '{');
		cli_json_number("seq", (int64_t)kept->seq);
		cli_json_bool("present", kept->is_present);
		cli_json_close('}');
	}
	if (anchors)
		cli_anchors_put(anchors, true);
	cli_json_close('}');
	cli_json_line_end();
}

/* "1 record", "2 records" */
static void put_count(uint64_t records)
{
	cli_printf("%llu record%s", (unsigned long long)records, records == 1 ? "" : "s");
}

static void put_result(const struct fw_audit_report *report, const char *missing,
		       const struct kept *kept)
{
	if (report->fault != FW_AUDIT_WHOLE) {
		cli_put_harmless(report->file);
		cli_printf(":%llu: %s: ", (unsigned long long)report->line,
			   fw_audit_fault_name(report->fault));
		cli_put_harmless(report->reason);
		cli_putc('\n');
		put_count(report->records);
		cli_printf(" before it %s intact\n", report->records == 1 ? "is" : "are");
		return;
	}
	cli_puts("OK: ");
	put_count(report->records);
	cli_printf(" in %llu file%s, chain intact", (unsigned long long)report->files,
		   report->files == 1 ? "" : "s");
	if (report->records == 1)
		cli_printf("; record %llu, hash %s", (unsigned long long)report->last_seq,
			   report->last_hash);
	else if (report->records > 1)
		cli_printf("; records %llu to %llu, last hash %s",
			   (unsigned long long)report->first_seq,
			   (unsigned long long)report->last_seq, report->last_hash);
	cli_putc('\n');
	if (missing)
		cli_puts("but no record has the hash given by --contains: the log was "
			 "truncated, "
			 "or is a different log\n");
	if (!kept->is_present)
		cli_printf("but it no longer contains record %llu, the last one that a server "
			   "wrote: the log was truncated or replaced. Restore it, or accept it "
			   "as it is: faultwire audit accept\n",
			   (unsigned long long)kept->seq);
}

struct search {
	char end[80]; /* the end of the line of the record */
	bool is_found;
};

static bool is_sought(void *ctx, const char *line, size_t len)
{
	struct search *search = ctx;
	size_t end = strlen(search->end);

	search->is_found = len >= end && memcmp(line + len - end, search->end, end) == 0;
	return !search->is_found;
}

static int verify(const cli_args *args, const char *path)
{
	bool is_started = false;
	struct fw_audit_verify_options how = { .partial = cli_given(args, PARTIAL),
					       .progress = step,
					       .ctx = &is_started };
	const char *hash = args->values[CONTAINS];
	struct fw_audit_report report;
	struct search search = { .is_found = !hash };
	struct kept kept = { .is_present = true };
	struct cli_anchors *anchors = NULL;
	char heads[CLI_PATH_SIZE] = "";
	fw_error *err = NULL;
	bool is_right;

	if (hash && (strlen(hash) != 64 || strspn(hash, "0123456789abcdef") != 64))
		return cli_fail(cli_usage("--contains takes a hash: 64 digits of 0-9 and a-f"));
	if (cli_given(args, ANCHORED_AS) && !cli_given(args, ANCHORS))
		return cli_fail(cli_usage("--anchored-as goes with --anchors"));
	if (cli_given(args, ANCHORS)) {
		err = cli_anchors_read(args->values[ANCHORS], args->values[ANCHORED_AS], path,
				       &anchors);
		how.record = cli_anchors_record;
		how.record_ctx = anchors;
	}
	if (!err)
		err = fw_audit_verify(path, &how, &report);
	cli_progress_stop();
	if (!err && hash) {
		(void)snprintf(search.end, sizeof search.end, "\"hash\":\"%s\"}", hash);
		err = walk_log(path, is_sought, &search);
	}
	if (!err)
		err = cli_state_path("heads", false, heads);
	if (!err && heads[0])
		err = fw_audit_check_head(heads, path, &kept.seq, &kept.is_present);
	if (err) {
		cli_anchors_free(anchors);
		return cli_fail(err);
	}
	if (cli_given(args, JSON))
		put_result_json(&report, search.is_found ? NULL : hash, &kept, anchors);
	else
		put_result(&report, search.is_found ? NULL : hash, &kept);
	if (anchors && !cli_given(args, JSON) && report.fault == FW_AUDIT_WHOLE)
		cli_anchors_put(anchors, false);
	is_right = report.fault == FW_AUDIT_WHOLE && search.is_found && kept.is_present &&
		   (!anchors || cli_anchors_hold(anchors));
	cli_anchors_free(anchors);
	return is_right ? CLI_DONE : CLI_FAILED;
}

/* ---- accept --------------------------------------------------------------- */

/* Does a server expect a log that does not exist? If not, its name is misspelt. */
static bool is_expected(const char *heads, const char *path)
{
	uint64_t seq = 0;
	bool is_there = true;
	fw_error *err = fw_audit_check_head(heads, path, &seq, &is_there);

	fw_error_free(err);
	return !err && seq > 0;
}

/* Makes servers expect the log in its current state, even if it was removed. */
static fw_error *accept_log(const cli_args *args, const char *path)
{
	struct fw_audit_verify_options how = { .partial = cli_given(args, PARTIAL) };
	struct fw_audit_report report = { .fault = FW_AUDIT_WHOLE };
	char heads[CLI_PATH_SIZE];
	fw_error *err;

	FW_TRY(cli_state_path("heads", false, heads));
	if (!heads[0])
		return cli_usage("no state of logs is stored, because HOME is not set");
	err = fw_audit_verify(path, &how, &report);
	if (err && fw_error_code(err) == FW_FILE_NOT_FOUND && is_expected(heads, path))
		fw_error_free(err);
	else if (err)
		return err;
	if (report.fault != FW_AUDIT_WHOLE)
		return fw_raise_input_invalid_value("the audit log",
						    "one whose chain is intact; "
						    "see faultwire audit verify");
	FW_TRY(fw_audit_accept(heads, path, &report));
	cli_puts("accepted: ");
	put_count(report.last_seq);
	cli_puts("; servers continue after the last\n");
	return NULL;
}

static int accept_it(const cli_args *args, const char *path)
{
	fw_error *err = accept_log(args, path);

	return err ? cli_fail(err) : CLI_DONE;
}

/* ---- tail and query ------------------------------------------------------- */

static int tail(const cli_args *args, const char *path)
{
	uint64_t count = 10;
	fw_error *err;

	if (cli_given(args, COUNT) &&
	    !fw_decimal_read(args->values[COUNT], 0, SIZE_MAX, &count))
		return cli_fail(cli_usage("--count takes a number"));
	err = cli_audit_tail(path, count, cli_given(args, FOLLOW), cli_given(args, JSON));
	return err ? cli_fail(err) : CLI_DONE;
}

struct query {
	cli_audit_filter filter;
	bool json;
};

static bool show_if_wanted(void *ctx, const char *line, size_t len)
{
	const struct query *query = ctx;

	if (cli_audit_filter_takes(&query->filter, line, len)) {
		cli_audit_show(line, len, query->json);
		cli_output_flush();
	}
	return true;
}

static int query(const cli_args *args, const char *path)
{
	struct query query = { .filter = { .code = args->values[CODE],
					   .tool = args->values[TOOL],
					   .session = args->values[SESSION],
					   .incident = args->values[INCIDENT],
					   .has_since = cli_given(args, SINCE),
					   .has_until = cli_given(args, UNTIL) },
			       .json = cli_given(args, JSON) };
	fw_error *err;

	if ((query.filter.has_since &&
	     !cli_audit_time_read(args->values[SINCE], &query.filter.since_ms)) ||
	    (query.filter.has_until &&
	     !cli_audit_time_read(args->values[UNTIL], &query.filter.until_ms)))
		return cli_fail(
			cli_usage("--since and --until take a time as RFC 3339, a date, "
				  "or an age: 90s, 15m, 2h, 7d"));
	err = walk_log(path, show_if_wanted, &query);
	return err ? cli_fail(err) : CLI_DONE;
}

/* ---- the command ---------------------------------------------------------- */

static const struct {
	int (*run)(const cli_args *args, const char *path);
	unsigned options; /* the ones it takes, as bits */
} actions[] = {
	{ verify,
	  1U << JSON | 1U << PARTIAL | 1U << CONTAINS | 1U << ANCHORS | 1U << ANCHORED_AS },
	{ accept_it, 1U << PARTIAL },
	{ tail, 1U << JSON | 1U << FOLLOW | 1U << COUNT },
	{ query, 1U << JSON | 1U << CODE | 1U << TOOL | 1U << SESSION | 1U << INCIDENT |
			 1U << SINCE | 1U << UNTIL },
};

static int run(const cli_args *args)
{
	char path[CLI_PATH_SIZE];
	fw_error *err;

	for (unsigned option = 0; option < OPTIONS; option++)
		if (cli_given(args, option) && !(actions[args->action].options >> option & 1))
			return cli_fail(cli_usage("audit %s takes no --%s", args->operands[0],
						  options[option].name));
	err = find_log(args, path);
	return err ? cli_fail(err) : actions[args->action].run(args, path);
}

static const cli_example examples[] = {
	{ "A server with one failed request, and its record (-f keeps watching):",
	  "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"no/such\"}' | faultwire serve "
	  "--log off --audit audit-log.jsonl && faultwire audit tail audit-log.jsonl" },
	{ "Check whether records were changed, removed or added:",
	  "faultwire audit verify audit-log.jsonl" },
	{ "Failures of a tool in the last two hours:",
	  "faultwire audit query --tool no/such --since 2h audit-log.jsonl" },
	{ NULL, NULL },
};

static const char *const action_words[] = { "verify", "accept", "tail", "query", NULL };

const cli_command cli_command_audit = {
	.name = "audit",
	.summary = "verify, follow and search an audit log",
	.synopsis = "verify|accept|tail|query [OPTION]... [FILE|DIRECTORY]",
	.description =
		"Works on the audit log FILE, on audit-log.jsonl in DIRECTORY, or by default "
		"on "
		"the log in the state directory, including rotated files.\n"
		"\n"
		"verify checks the hash chain of all records and exits with 0 if it is intact. "
		"Otherwise it prints the first invalid line and what is wrong with it: "
		"bad_json, "
		"hash (the line was changed), chain (it does not follow the previous line), "
		"sequence (lines are missing), torn (the last line is incomplete), start (the "
		"oldest lines are missing). Records removed at the end cannot be detected from "
		"the log itself: store the last hash elsewhere, and pass it to --contains. The "
		"last record written by a server of this user is stored in the state directory "
		"and checked automatically.\n"
		"\n"
		"accept makes servers accept the log in its current state, after it was "
		"truncated, "
		"replaced or removed on purpose. First stop the servers that write to it.\n"
		"\n"
		"tail prints the last records, query the matching ones, oldest first.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
