/*
 * plan.c - creates, checks, shows, approves, revokes and lists the plans of a governed workspace.
 *
 * No tool of the workspace can approve a plan: that needs the key, which is outside of
 * the workspace, and a person at a terminal or --yes.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <faultwire/faultwire.h>

#include "base/decimal.h"
#include "base/mem.h"
#include "cli/commands/plan_show.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "tools/workspace/plans.h"

enum { WORKSPACE, PLAN_KEY, SCOPE, TITLE, YES, EXPIRES, JSON };

static const cli_option options[] = {
	[WORKSPACE] = { "workspace", "DIR", 'w', CLI_FILE,
			"Directory of the workspace; by default the current directory." },
	[PLAN_KEY] = { "plan-key", "FILE", 0, CLI_FILE,
		       "Key to sign and check plans with; by default "
		       "$XDG_CONFIG_HOME/faultwire/plan.key, which is created if it does not "
		       "exist." },
	[SCOPE] = { "scope", "GLOBS", 's', CLI_TEXT,
		    "new, bootstrap: globs of the paths that the plan permits to change, "
		    "separated by commas." },
	[TITLE] = { "title", "TEXT", 0, CLI_TEXT,
		    "new, bootstrap: heading to insert before the text." },
	[YES] = { "yes", NULL, 'y', CLI_NOTHING, "approve: do not ask for confirmation." },
	[EXPIRES] = { "expires", "MINUTES", 0, CLI_TEXT,
		      "bootstrap: how long the payload is valid; by default 60." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print JSON." },
};

static const cli_example examples[] = {
	{ "Create a plan that permits changes below src:",
	  "echo 'Rename the buffer.' | faultwire plan new --scope 'src/**' --title 'Rename' "
	  "-" },
	{ "List all plans, and whether they can be used:", "faultwire plan list" },
	{ NULL, NULL },
};

struct job {
	const cli_args *args;
	struct cli_plan_place place;
	bool json;
};

/* ---- which plan is meant ---------------------------------------------------------- */

/* `word` is a hash, a prefix of one, or a file name. */
static fw_error *find_hash(const struct job *job, const char *word,
			   char ret_hash[FW_SHA256_TEXT])
{
	char(*hashes)[FW_SHA256_TEXT] = NULL;
	const char *slash = strrchr(word, '/');
	const char *name = slash ? slash + 1 : word;
	size_t len = strcspn(name, ".");
	size_t count = 0;
	size_t found = 0;

	FW_TRY(fw_ws_plan_list(&job->place.root, &hashes, &count));
	for (size_t i = 0; i < count && len >= 4; i++) {
		if (strncmp(hashes[i], name, len) != 0)
			continue;
		memcpy(ret_hash, hashes[i], FW_SHA256_TEXT);
		found++;
	}
	fw__release(hashes);
	if (found > 1)
		return cli_usage("several plans begin with %s", name);
	return found ? NULL : fw_raise_plan_not_found(word);
}

/* Prints each plan, or those that are named; `*bad` counts those that are refused. */
static fw_error *each(struct job *job, size_t *bad)
{
	char(*hashes)[FW_SHA256_TEXT] = NULL;
	size_t count = 0;
	fw_error *err = NULL;

	if (job->args->operand_count > 1) {
		count = job->args->operand_count - 1;
		hashes = fw__allocate(count * sizeof *hashes);
		if (!hashes)
			return fw_raise_internal_out_of_memory();
		for (size_t i = 0; !err && i < count; i++)
			err = find_hash(job, job->args->operands[i + 1], hashes[i]);
	} else {
		err = fw_ws_plan_list(&job->place.root, &hashes, &count);
	}
	if (job->json)
		cli_json_open(NULL, '[');
	for (size_t i = 0; !err && i < count; i++) {
		struct cli_plan loaded;

		err = cli_plan_load(&job->place, hashes[i], &loaded);
		if (!err) {
			*bad += loaded.distrust != NULL;
			if (job->json)
				cli_plan_put_json(&loaded, false);
			else
				cli_plan_put_line(&loaded);
		}
		cli_plan_unload(&loaded);
	}
	if (job->json) {
		cli_json_close(']');
		cli_json_line_end();
	} else if (!err && !count && isatty(STDERR_FILENO)) {
		cli_remark("there are no plans in %s/" FW_WS_PLANS, job->place.root.path);
	}
	fw__release(hashes);
	return err;
}

static int do_list(struct job *job)
{
	size_t bad = 0;
	fw_error *err = each(job, &bad);

	return err ? cli_fail(err) : CLI_DONE;
}

static int do_lint(struct job *job)
{
	size_t bad = 0;
	fw_error *err = each(job, &bad);

	if (err)
		return cli_fail(err);
	return bad ? CLI_FAILED : CLI_DONE;
}

/* ---- writing ------------------------------------------------------------------------- */

/* Adds the header of a plan, unless the text has one. */
static void compose(const char *text, size_t len, const char *scope, const char *title,
		    struct fw_buf *out)
{
	if (len < 4 || memcmp(text, "<!--", 4) != 0) {
		FW_BUF(out, "<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nROLE: ANTIGRAVITY\n"
			    "STATUS: PENDING\nSCOPE: ");
		fw_buf_str(out, scope ? scope : "");
		FW_BUF(out, "\n-->\n\n");
	}
	if (title) {
		FW_BUF(out, "# ");
		fw_buf_str(out, title);
		FW_BUF(out, "\n\n");
	}
	fw_buf_put(out, text, len);
	if (!len || text[len - 1] != '\n')
		FW_BUF(out, "\n");
}

static fw_error *read_draft(const struct job *job, struct fw_buf *out,
			    struct fw_ws_plan *ret_plan)
{
	const cli_args *args = job->args;
	char fault[FW_WS_FAULT_SIZE];
	char *text = NULL;
	size_t len = 0;

	if (args->operand_count != 2)
		return cli_usage("faultwire plan %s takes one file, or - for standard input",
				 args->operands[0]);
	FW_TRY(cli_read_file(args->operands[1], FW_WS_PLAN_BYTES, &text, &len));
	fw_buf_init(out, 2 * (size_t)FW_WS_PLAN_BYTES);
	compose(text, len, args->values[SCOPE], args->values[TITLE], out);
	free(text);
	if (out->state != FW_BUF_OK)
		return fw_raise_internal_out_of_memory();
	if (fw_ws_plan_read(out->text, out->len, ret_plan, fault))
		return NULL;
	if (strstr(fault, "SCOPE is empty"))
		return cli_usage("a new plan needs --scope, such as --scope 'src/**'");
	return fw_raise_input_invalid_value(args->operands[1], fault);
}

static int do_new(struct job *job)
{
	struct fw_buf out = { .text = NULL };
	struct fw_ws_plan plan;
	bool was_there = false;
	fw_error *err = read_draft(job, &out, &plan);

	if (!err)
		err = fw_ws_plan_save(&job->place.root, &plan, "PENDING", NULL, &was_there);
	if (!err && job->json) {
		cli_json_open(NULL, '{');
		cli_json_string("plan", plan.computed);
		cli_json_bool("existed", was_there);
		cli_json_close('}');
		cli_json_line_end();
	} else if (!err) {
		cli_printf("%s\n", plan.computed);
		if (isatty(STDERR_FILENO))
			cli_remark("%s " FW_WS_PLANS
				   "/%s.md; approve it with: faultwire plan approve "
				   "%.12s",
				   was_there ? "already exists:" : "created", plan.computed,
				   plan.computed);
	}
	fw_buf_clear(&out);
	return err ? cli_fail(err) : CLI_DONE;
}

/* ---- approving -------------------------------------------------------------------------- */

static bool confirm(const struct cli_plan *loaded)
{
	char answer[16] = "";

	cli_plan_put_text(loaded);
	cli_printf("\nplan    %s\ntitle   ", loaded->hash);
	cli_plan_put_span(loaded->plan.title);
	cli_puts("\nscope   ");
	cli_plan_put_scopes(&loaded->plan);
	cli_puts("\n\nApproving lets agents write these paths. Approve? [y/N] ");
	cli_output_flush();
	if (!fgets(answer, sizeof answer, stdin))
		return false;
	return answer[0] == 'y' || answer[0] == 'Y';
}

static void put_status(const struct job *job, const char *hash, const char *status)
{
	if (!job->json) {
		cli_printf("%.12s  %s\n", hash, status);
		return;
	}
	cli_json_open(NULL, '{');
	cli_json_string("plan", hash);
	cli_json_string("status", status);
	cli_json_close('}');
	cli_json_line_end();
}

static fw_error *sign(const struct job *job, const struct cli_plan *loaded)
{
	FW_TRY(fw_ws_plan_approve(&job->place.root, &loaded->plan, &job->place.key));
	return fw_ws_revoked_remove(job->place.revoked, &job->place.root, loaded->hash);
}

static fw_error *approve(struct job *job)
{
	char hash[FW_SHA256_TEXT];
	struct cli_plan loaded = { .text = NULL };
	fw_error *err = NULL;

	if (job->args->operand_count != 2)
		return cli_usage("faultwire plan approve takes one plan");
	FW_TRY(find_hash(job, job->args->operands[1], hash));
	FW_TRY(cli_plan_load(&job->place, hash, &loaded));
	if (loaded.fault[0])
		err = fw_raise_plan_enforcement_failed(hash, loaded.fault);
	else if (strcmp(loaded.plan.computed, hash) != 0)
		err = fw_raise_plan_enforcement_failed(hash,
						       "its hash does not match its content");
	else if (loaded.plan.is_approved && !loaded.distrust)
		cli_remark("already approved");
	else if (!cli_given(job->args, YES) && !isatty(STDIN_FILENO))
		err = cli_usage(
			"approve asks for confirmation on a terminal; without one, give --yes");
	else if (!cli_given(job->args, YES) && !confirm(&loaded))
		err = fw_raise_plan_not_approved(hash);
	else
		err = sign(job, &loaded);
	if (!err)
		put_status(job, hash, "APPROVED");
	cli_plan_unload(&loaded);
	return err;
}

static int do_approve(struct job *job)
{
	fw_error *err = approve(job);

	return err ? cli_fail(err) : CLI_DONE;
}

/* ---- revoking and showing ---------------------------------------------------------------- */

/* The note comes first: a plan whose file cannot be written is revoked nevertheless. */
static fw_error *revoke_plan(struct job *job)
{
	char hash[FW_SHA256_TEXT];
	struct cli_plan loaded = { .text = NULL };
	fw_error *err;

	if (job->args->operand_count != 2)
		return cli_usage("faultwire plan revoke takes one plan");
	FW_TRY(find_hash(job, job->args->operands[1], hash));
	FW_TRY(fw_ws_revoked_add(job->place.revoked, &job->place.root, hash));
	err = cli_plan_load(&job->place, hash, &loaded);
	/* The file of a plan that was edited is left as it is; it cannot be used anyway. */
	if (!err && !loaded.fault[0] && strcmp(loaded.plan.computed, hash) == 0)
		err = fw_ws_plan_revoke(&job->place.root, &loaded.plan);
	if (!err)
		put_status(job, hash, "REVOKED");
	cli_plan_unload(&loaded);
	return err;
}

static int do_revoke(struct job *job)
{
	fw_error *err = revoke_plan(job);

	return err ? cli_fail(err) : CLI_DONE;
}

static fw_error *show(struct job *job)
{
	char hash[FW_SHA256_TEXT];
	struct cli_plan loaded = { .text = NULL };
	fw_error *err;

	if (job->args->operand_count != 2)
		return cli_usage("faultwire plan show takes one plan");
	FW_TRY(find_hash(job, job->args->operands[1], hash));
	err = cli_plan_load(&job->place, hash, &loaded);
	if (!err && job->json) {
		cli_plan_put_json(&loaded, true);
		cli_json_line_end();
	} else if (!err) {
		cli_plan_put_line(&loaded);
		cli_putc('\n');
		cli_plan_put_text(&loaded);
	}
	cli_plan_unload(&loaded);
	return err;
}

static int do_show(struct job *job)
{
	fw_error *err = show(job);

	return err ? cli_fail(err) : CLI_DONE;
}

/* ---- bootstrapping ------------------------------------------------------------------------ */

static fw_error *read_minutes(const char *word, int64_t *ret_s)
{
	uint64_t minutes;

	*ret_s = 3600;
	if (!word)
		return NULL;
	if (!fw_decimal_read(word, 1, 1440, &minutes))
		return cli_usage("--expires takes 1 to 1440 minutes");
	*ret_s = (int64_t)minutes * 60;
	return NULL;
}

static fw_error *bootstrap(struct job *job)
{
	struct fw_buf out = { .text = NULL };
	struct fw_buf payload;
	struct fw_ws_plan plan;
	char signature[FW_SHA256_TEXT];
	int64_t lifetime_s;
	fw_error *err;

	FW_TRY(read_minutes(job->args->values[EXPIRES], &lifetime_s));
	err = read_draft(job, &out, &plan);
	fw_buf_init(&payload, 16 * 1024);
	if (!err) {
		fw_ws_bootstrap_payload(job->place.root.path, &plan,
					(int64_t)time(NULL) + lifetime_s, &payload);
		if (payload.state != FW_BUF_OK ||
		    !fw_ws_key_sign(&job->place.key, FW_WS_SIGN_BOOTSTRAP, payload.text,
				    payload.len, signature))
			err = fw_raise_internal_out_of_memory();
	}
	if (!err) {
		cli_json_open(NULL, '{');
		cli_json_string("path", job->place.root.path);
		cli_json_string("planContent", out.text);
		cli_json_string("payload", payload.text);
		cli_json_string("signature", signature);
		cli_json_close('}');
		cli_json_line_end();
	}
	fw_buf_clear(&payload);
	fw_buf_clear(&out);
	return err;
}

static int do_bootstrap(struct job *job)
{
	fw_error *err = bootstrap(job);

	return err ? cli_fail(err) : CLI_DONE;
}

/* ---- the command ----------------------------------------------------------------------------- */

static bool does_write(int (*run)(struct job *job))
{
	return run == do_revoke || run == do_approve;
}

static int run(const cli_args *args)
{
	static const struct {
		int (*run)(struct job *job);
		bool makes_key;
	} actions[] = {
		{ do_new, false },      { do_lint, false },   { do_show, false },
		{ do_approve, true },   { do_revoke, false }, { do_list, false },
		{ do_bootstrap, true },
	};
	bool makes_key = actions[args->action].makes_key;
	struct job job = { .args = args, .place.root = FW_ROOT_INIT };
	const char *directory = args->values[WORKSPACE];
	char revoked[CLI_PATH_SIZE] = "";
	fw_error *err;
	int status;

	job.json = cli_given(args, JSON);
	err = fw_ws_key_load(args->values[PLAN_KEY], makes_key, &job.place.key);
	/* If there is no key, no plan was ever approved. */
	if (err && !makes_key && !args->values[PLAN_KEY] &&
	    fw_error_code(err) == FW_FILE_NOT_FOUND) {
		fw_error_free(err);
		err = NULL;
	}
	if (!err)
		err = cli_state_path("workspaces/" FW_WS_REVOKED_DIR,
				     does_write(actions[args->action].run), revoked);
	job.place.revoked = revoked[0] ? revoked : NULL;
	if (!err)
		err = fw_root_open_any(directory ? directory : ".", &job.place.root);
	if (err)
		return cli_fail(err);
	job.place.root.hard_links = true;
	status = actions[args->action].run(&job);
	fw_root_close(&job.place.root);
	return status;
}

static const char *const action_words[] = { "new",    "lint", "show",      "approve",
					    "revoke", "list", "bootstrap", NULL };

const cli_command cli_command_plan = {
	.name = "plan",
	.summary = "create, check, show, approve, revoke and list plans",
	.synopsis = "new|lint|show|approve|revoke|list|bootstrap [FILE|PLAN]... "
		    "[OPTION]...",
	.description =
		"Plans define what agents may change in a governed workspace (faultwire serve "
		"--tools workspace). They are Markdown files in docs/plans/, named by their "
		"hash.\n"
		"\n"
		"  new FILE        store a text (- is standard input) as a pending plan\n"
		"  lint [PLAN]...  check form, hash and signature; exit status 1 if one fails\n"
		"  show PLAN       print it, and whether it can be used\n"
		"  approve PLAN    print its whole text, and sign it after confirmation\n"
		"  revoke PLAN     withdraw its approval; servers that run notice it at once\n"
		"  list            list all plans\n"
		"  bootstrap FILE  print the arguments for an agent to create the first plan\n"
		"\n"
		"PLAN is a hash, a prefix of one with at least four digits, or a file. Only a "
		"person can approve a plan: the key is outside of the workspace, where its "
		"tools cannot read it. An approval is valid for one workspace, identified by "
		"its path; after moving or copying the workspace its plans have to be approved "
		"again.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_FILE,
	.examples = examples,
	.run = run,
};
