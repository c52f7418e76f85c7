/*
 * token.c - makes, lists, revokes and rotates bearer tokens.
 *
 * A token is printed once, on standard output and alone, so that it can be piped. A running
 * server with --tokens notices every change within a second.
 */
#include "cli/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/serve/govern.h"
#include "cli/stamp.h"
#include "cli/state.h"
#include "cli/terminal/output.h"
#include "cli/terminal/report.h"
#include "cli/terminal/text.h"
#include "govern/scope.h"
#include "govern/token.h"

enum { SCOPE, EXPIRES, OVERLAP, ALL, JSON, GOVERNANCE };

enum { DURATION_MOST = 100000, JSON_MAX = 16 << 20 };

static const cli_option options[] = {
	[SCOPE] = { "scope", "SCOPE", 's', CLI_TEXTS,
		    "new: what the client may do: tool:NAME, toolset:NAME, read, incidents or "
		    "admin; may be repeated." },
	[EXPIRES] = { "expires", "WHEN", 0, CLI_TEXT,
		      "new, rotate: when the token ceases to be valid: 90s, 30m, 12h or 30d "
		      "from now, a time such as 2027-01-15T12:00:00Z, or never; by default "
		      "90d." },
	[OVERLAP] = { "overlap", "DURATION", 0, CLI_TEXT,
		      "rotate: how long the old token stays valid; by default 0s." },
	[ALL] = { "all", NULL, 'a', CLI_NOTHING, "list: also revoked and expired tokens." },
	[JSON] = { "json", NULL, 'j', CLI_NOTHING, "Print JSON." },
	[GOVERNANCE] = { "governance", "FILE|URL", 0, CLI_FILE,
			 "Database of tokens; by default governance.db in the state "
			 "directory." },
};

/* ---- the command line ------------------------------------------------------------ */

/* 0: never. */
static fw_error *read_expiry(const char *text, int64_t now_ms, int64_t *ret_ms)
{
	int64_t after_ms;

	*ret_ms = 0;
	if (text && strcmp(text, "never") == 0)
		return NULL;
	if (cli_duration_read(text ? text : "90d", DURATION_MOST, &after_ms)) {
		*ret_ms = now_ms + after_ms;
		return NULL;
	}
	if (cli_time_read(text, ret_ms))
		return NULL;
	return cli_usage("--expires takes a duration such as 30d, a time such as "
			 "2027-01-15T12:00:00Z, or never; found \"%s\"",
			 text);
}

static fw_error *read_scopes(const cli_args *args, const char *ret_scopes[FW_SCOPES_MAX],
			     size_t *ret_count)
{
	size_t count = 0;

	for (size_t i = 0; i < args->file_count; i++) {
		const char *scope = args->files[i].value;

		if (args->files[i].option != SCOPE)
			continue;
		if (!fw_scope_is_valid(scope))
			return cli_usage("--scope takes tool:NAME, toolset:NAME, read, "
					 "incidents or admin; found \"%s\"",
					 scope);
		if (count == FW_SCOPES_MAX)
			return cli_usage("a token has at most %d scopes", FW_SCOPES_MAX);
		ret_scopes[count++] = scope;
	}
	*ret_count = count;
	return count ? NULL : cli_usage("a token needs --scope");
}

/* ---- what is printed -------------------------------------------------------------- */

static void put_made(const struct fw_token_made *made, int64_t expires_ms, bool as_json)
{
	char expires[FW_TIME_SIZE];

	(void)fw_time_text(expires_ms, expires);
	if (!as_json) {
		cli_puts(made->text);
		cli_putc('\n');
		cli_remark("token \"%s\" (%s) %s%s; it is shown only now", made->name, made->id,
			   expires_ms ? "expires " : "does not expire",
			   expires_ms ? expires : "");
		return;
	}
	cli_printf("{\"token\":\"%s\",\"id\":\"%s\",\"name\":\"%s\"", made->text, made->id,
		   made->name);
	if (expires_ms)
		cli_printf(",\"expires\":\"%s\"", expires);
	cli_puts("}\n");
}

struct table {
	int64_t now_ms;
	bool all;
	size_t count;
	struct fw_buf json;
};

static const char *state_name(enum fw_token_state state)
{
	static const char *const names[] = { "active", "expired", "revoked" };

	return names[state];
}

static void put_time(int64_t time_ms, size_t width)
{
	char text[FW_TIME_SIZE] = "-";

	if (time_ms) {
		(void)fw_time_text(time_ms, text);
		text[10] = ' ';
		text[16] = '\0';
	}
	cli_cell(text, width);
}

static void put_row(void *ctx, const struct fw_token *token)
{
	struct table *table = ctx;
	enum fw_token_state state = fw_token_state_at(token, table->now_ms);

	if (state != FW_TOKEN_ACTIVE && !table->all)
		return;
	if (!table->count++) {
		cli_cell("ID", 18);
		cli_cell("NAME", 22);
		cli_cell("STATE", 9);
		cli_cell("EXPIRES (UTC)", 18);
		cli_cell("LAST USED (UTC)", 18);
		cli_puts("SCOPES\n");
	}
	cli_cell(token->id, 18);
	cli_cell(token->name, 22);
	cli_cell(state_name(state), 9);
	put_time(token->expires_ms, 18);
	put_time(token->used_ms, 18);
	for (size_t i = 0; i < token->scope_count; i++) {
		cli_puts(i ? " " : "");
		cli_put_harmless(token->scopes[i]);
	}
	cli_putc('\n');
}

static void put_json_time(struct fw_buf *out, const char *key, int64_t time_ms)
{
	char text[FW_TIME_SIZE];

	if (!time_ms)
		return;
	(void)fw_time_text(time_ms, text);
	fw_buf_json_key(out, key);
	fw_buf_json_str(out, text);
}

static void put_json_row(void *ctx, const struct fw_token *token)
{
	struct table *table = ctx;
	enum fw_token_state state = fw_token_state_at(token, table->now_ms);
	struct fw_buf *out = &table->json;

	if (state != FW_TOKEN_ACTIVE && !table->all)
		return;
	cli_puts(table->count++ ? ",\n" : "\n");
	fw_buf_reset(out, 64 * 1024);
	FW_BUF(out, "{");
	fw_buf_json_key(out, "id");
	fw_buf_json_str(out, token->id);
	fw_buf_json_key(out, "name");
	fw_buf_json_str(out, token->name);
	fw_buf_json_key(out, "state");
	fw_buf_json_str(out, state_name(state));
	fw_buf_json_key(out, "scopes");
	FW_BUF(out, "[");
	for (size_t i = 0; i < token->scope_count; i++) {
		if (i)
			FW_BUF(out, ",");
		fw_buf_json_str(out, token->scopes[i]);
	}
	FW_BUF(out, "]");
	put_json_time(out, "created", token->created_ms);
	put_json_time(out, "expires", token->expires_ms);
	put_json_time(out, "revoked", token->revoked_ms);
	put_json_time(out, "last_used", token->used_ms);
	FW_BUF(out, "}");
	cli_put_json(out->text, out->len);
}

/* ---- actions ------------------------------------------------------------------------ */

static fw_error *make(const cli_args *args, struct fw_store *store, int64_t now_ms)
{
	const char *scopes[FW_SCOPES_MAX];
	struct fw_token_new how = { .name = args->operands[1],
				    .scopes = scopes,
				    .now_ms = now_ms };
	struct fw_token_made made;

	FW_TRY(read_scopes(args, scopes, &how.scope_count));
	FW_TRY(read_expiry(args->values[EXPIRES], now_ms, &how.expires_ms));
	FW_TRY(fw_token_make(store, &how, &made));
	put_made(&made, how.expires_ms, cli_given(args, JSON));
	explicit_bzero(&made, sizeof made);
	return NULL;
}

static fw_error *list(const cli_args *args, struct fw_store *store, int64_t now_ms)
{
	struct table table = { .now_ms = now_ms, .all = cli_given(args, ALL) };
	bool as_json = cli_given(args, JSON);
	fw_error *err;

	fw_buf_init(&table.json, JSON_MAX);
	if (as_json)
		cli_putc('[');
	err = fw_token_list_used(store, as_json ? put_json_row : put_row, &table);
	if (as_json)
		cli_puts("\n]\n");
	else if (!err && !table.count)
		cli_remark("no tokens");
	fw_buf_clear(&table.json);
	return err;
}

static fw_error *withdraw(const cli_args *args, struct fw_store *store, int64_t now_ms)
{
	size_t count = 0;

	FW_TRY(fw_token_revoke(store, args->operands[1], now_ms, &count));
	if (cli_given(args, JSON))
		cli_printf("{\"revoked\":%zu}\n", count);
	else
		cli_remark("revoked %zu token%s", count, count == 1 ? "" : "s");
	return NULL;
}

static fw_error *rotate(const cli_args *args, struct fw_store *store, int64_t now_ms)
{
	const char *overlap = args->values[OVERLAP];
	struct fw_token_made made;
	int64_t overlap_ms = 0, expires_ms;

	if (overlap && !cli_duration_read(overlap, DURATION_MOST, &overlap_ms))
		return cli_usage("--overlap takes a duration such as 1h; found \"%s\"",
				 overlap);
	FW_TRY(read_expiry(args->values[EXPIRES], now_ms, &expires_ms));
	FW_TRY(fw_token_rotate(store, args->operands[1], now_ms, now_ms + overlap_ms,
			       expires_ms, &made));
	put_made(&made, expires_ms, cli_given(args, JSON));
	explicit_bzero(&made, sizeof made);
	return NULL;
}

/* ---- the command ---------------------------------------------------------------------- */

static const struct {
	size_t operands; /* after the action */
	fw_error *(*run)(const cli_args *args, struct fw_store *store, int64_t now_ms);
} actions[] = { { 1, make }, { 0, list }, { 1, withdraw }, { 1, rotate } };

static fw_error *carry_out(const cli_args *args)
{
	const struct fw_store_options durable = { .is_durable = true };
	char path[CLI_PATH_SIZE], state[CLI_PATH_SIZE];
	struct fw_store *store = NULL;
	const char *url;
	fw_error *err;

	FW_TRY(serve_governance_path(args->values[GOVERNANCE], path, &url));
	if (!cli_given(args, GOVERNANCE))
		FW_TRY(cli_state_path("", true, state));
	FW_TRY(fw_store_open(url, &durable, &store));
	err = actions[args->action].run(args, store, fw_unix_ms());
	fw_store_free(store);
	return err;
}

static int run(const cli_args *args)
{
	size_t operands = actions[args->action].operands;
	fw_error *err;

	if (args->operand_count - 1 != operands)
		err = cli_usage(operands ? "faultwire token %s takes the name of one token"
					 : "faultwire token %s takes no operand",
				args->operands[0]);
	else
		err = carry_out(args);
	return err ? cli_fail(err) : CLI_DONE;
}

static const cli_example examples[] = {
	{ "A token for a client that only reads, for a month:",
	  "faultwire token new reader --scope read --expires 30d" },
	{ "Who has a token, and when it was last used:", "faultwire token list" },
	{ "Replace a token; the old one works for another hour:",
	  "faultwire token rotate reader --overlap 1h" },
	{ "End it at once, also for servers that are running:",
	  "faultwire token revoke reader" },
	{ NULL, NULL },
};

static const char *const action_words[] = { "new", "list", "revoke", "rotate", NULL };

const cli_command cli_command_token = {
	.name = "token",
	.summary = "make, list, revoke or rotate bearer tokens",
	.synopsis = "new NAME --scope SCOPE... | list | revoke NAME | rotate NAME",
	.description =
		"Bearer tokens for faultwire serve --tokens and faultwire gate --tokens. A "
		"token "
		"has a name, which is the name of its client in logs and policies, and scopes: "
		"tool:NAME and toolset:NAME to call tools, read to call tools that change "
		"nothing and to read resources, incidents to see incidents, alerts and "
		"metrics, admin for everything.\n"
		"\n"
		"A token is printed once; the database has only its SHA-256. Servers notice "
		"changes within a second. revoke and rotate take a name or an id.",
	CLI_OPTIONS(options),
	.actions = action_words,
	.operands = CLI_TEXT,
	.examples = examples,
	.run = run,
};
