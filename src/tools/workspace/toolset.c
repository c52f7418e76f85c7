/*
 * toolset.c - the descriptor of the toolset workspace: its options, and the audit log
 * that moves to the workspace when a session begins.
 */
#include "tools/toolset.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/decimal.h"
#include "base/mem.h"
#include "tools/reserve/reserve.h"
#include "tools/workspace/workspace.h"

enum { POLICY_MAX = 1 << 20, TIMEOUT_MAX_S = 3600, STATE_PATH_SIZE = 4096 };

enum {
	DIRECTORY,
	PLAN_KEY,
	POLICY,
	PREFLIGHT,
	PREFLIGHT_TIMEOUT,
	LOCK_ON,
	HARD_LINKS,
	AUTO_SESSION,
	OPTION_COUNT
};

static const char *const lock_words[] = { [FW_WS_LOCK_INTEGRITY] = "integrity",
					  [FW_WS_LOCK_ANY] = "any",
					  [FW_WS_LOCK_NEVER] = "never",
					  NULL };

static const struct fw_toolset_option options[OPTION_COUNT] = {
	[DIRECTORY] = { "workspace", "DIR", 'w', FW_TOOLSET_PATH,
			.help = "Sessions may use this directory and those below it; by "
				"default the "
				"current directory.",
			.also = "reserve" },
	[PLAN_KEY] = { "plan-key", "FILE", 0, FW_TOOLSET_PATH,
		       .help = "Key that plans are signed with; by default "
			       "$XDG_CONFIG_HOME/faultwire/plan.key." },
	[POLICY] = { "policy", "FILE", 0, FW_TOOLSET_PATH,
		     .help = "Rules for what may be written, instead of the built-in ones." },
	[PREFLIGHT] = { "preflight", "COMMAND", 0, FW_TOOLSET_TEXT,
			.help = "Run this command after each write, and restore the old "
				"content if it "
				"fails." },
	[PREFLIGHT_TIMEOUT] = { "preflight-timeout", "SECONDS", 0, FW_TOOLSET_TEXT,
				.help = "Time limit of the preflight command; by default 60." },
	[LOCK_ON] = { "lock-on", "WHAT", 0, FW_TOOLSET_WORD, lock_words,
		      .help = "Failures that lock the session; by default integrity." },
	[HARD_LINKS] = { "hard-links", NULL, 0, FW_TOOLSET_FLAG,
			 .help = "Permit reading and writing files that have several hard "
				 "links." },
	[AUTO_SESSION] = { "auto-session", NULL, 0, FW_TOOLSET_FLAG,
			   .help = "Begin a session in the directory of --workspace with the "
				   "first call of a client, without begin_session." },
};

struct instance {
	struct fw_toolset_host host;
	fw_workspace *workspace;
	struct fw_reserve *reserve; /* NULL: there is no store */
};

/* ---- the values of the options ---------------------------------------------------- */

static enum fw_ws_lock_on read_lock_on(const char *word)
{
	size_t i = 0;

	while (word && lock_words[i] && strcmp(lock_words[i], word) != 0)
		i++;
	return word && lock_words[i] ? (enum fw_ws_lock_on)i : FW_WS_LOCK_INTEGRITY;
}

static fw_error *read_seconds(const char *word, uint32_t *ret_ms)
{
	uint64_t seconds;

	if (!word)
		return NULL;
	if (!fw_decimal_read(word, 1, TIMEOUT_MAX_S, &seconds))
		return fw_raise_cli_usage("--preflight-timeout takes 1 to 3600 seconds");
	*ret_ms = (uint32_t)seconds * 1000;
	return NULL;
}

static fw_error *read_all(int fd, const char *path, char *text, size_t *ret_len)
{
	size_t len = 0;

	while (len <= POLICY_MAX) {
		ssize_t got = read(fd, text + len, POLICY_MAX + 1 - len);
		int error = errno;

		if (got < 0 && error == EINTR)
			continue;
		if (got < 0)
			return fw_error_from_errno(FW_HERE, error, path);
		if (got == 0)
			break;
		len += (size_t)got;
	}
	if (len > POLICY_MAX)
		return fw_raise_input_too_large(path, POLICY_MAX);
	*ret_len = len;
	return NULL;
}

/* The text of the rules file, for fw__release(); NULL if there is none. */
static fw_error *read_policy(const char *path, char **ret_text)
{
	size_t len = 0;
	fw_error *err;
	char *text;
	int fd;

	if (!path)
		return NULL;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int error = errno;

		return fw_error_from_errno(FW_HERE, error, path);
	}
	text = fw__allocate(POLICY_MAX + 2);
	if (!text) {
		(void)close(fd);
		return fw_raise_internal_out_of_memory();
	}
	err = read_all(fd, path, text, &len);
	(void)close(fd);
	if (err) {
		fw__release(text);
		return err;
	}
	text[len] = '\0';
	*ret_text = text;
	return NULL;
}

/* ---- the audit log ------------------------------------------------------------------ */

static void move_audit(void *ctx, int dir, const char *log)
{
	const struct instance *instance = ctx;

	instance->host.move_audit(instance->host.ctx, dir, log);
}

static void note(void *ctx, const char *text)
{
	const struct instance *instance = ctx;
	fw_scope scope = { 0 };

	fw_workspace_describe(instance->workspace, NULL, &scope);
	instance->host.note_audit(instance->host.ctx, &scope, text);
}

static void describe(void *ctx, const fw_outcome *outcome, fw_scope *scope)
{
	const struct instance *instance = ctx;

	fw_workspace_describe(instance->workspace, outcome, scope);
}

/* ---- adding it ------------------------------------------------------------------------ */

static fw_error *add_workspace(struct instance *instance)
{
	const struct fw_toolset_host *host = &instance->host;
	const char *const *values = host->values;
	struct fw_workspace_options how = {
		.directory = values[DIRECTORY],
		.role = host->role,
		.plan_key = values[PLAN_KEY],
		.preflight = values[PREFLIGHT],
		.lock_on = read_lock_on(values[LOCK_ON]),
		.hard_links = values[HARD_LINKS] != NULL,
		.begins_sessions = values[AUTO_SESSION] != NULL,
		.sandbox = host->isolation.sandbox,
		.workers = host->isolation.count,
		.began = host->move_audit ? move_audit : NULL,
		.note = note,
		.verify_audit = host->verify_audit,
		.ctx = instance,
	};
	char state[STATE_PATH_SIZE];
	char *policy = NULL;
	fw_error *err;

	if (!how.role)
		return fw_raise_cli_usage(
			"the workspace toolset needs --role windsurf or antigravity (also "
			"named executor and planner)");
	if (how.begins_sessions && !how.directory)
		return fw_raise_cli_usage("--auto-session needs --workspace DIR");
	FW_TRY(read_seconds(values[PREFLIGHT_TIMEOUT], &how.preflight_ms));
	FW_TRY(read_policy(values[POLICY], &policy));
	how.policy = policy;
	if (host->state &&
	    snprintf(state, sizeof state, "%s/workspaces", host->state) < (int)sizeof state)
		how.state = state;
	how.checks_reservations = instance->reserve != NULL;
	err = instance->reserve ? fw_reserve_answer_writes(instance->reserve) : NULL;
	if (!err)
		err = fw_workspace_add(host->server, &how, &instance->workspace);
	fw__release(policy);
	return err;
}

static void instance_free(void *ctx)
{
	struct instance *instance = ctx;

	if (instance) {
		fw_workspace_free(instance->workspace);
		fw_reserve_unref(instance->reserve);
	}
	fw__release(instance);
}

static void stop(void *ctx)
{
	const struct instance *instance = ctx;

	fw_reserve_stop(instance->reserve);
}

static fw_error *add(const struct fw_toolset_host *host, void **ret_instance)
{
	struct instance *instance = fw__allocate(sizeof *instance);
	fw_error *err;

	if (!instance)
		return fw_raise_internal_out_of_memory();
	*instance = (struct instance){ .host = *host };
	err = fw_reserve_get(host, &instance->reserve);
	if (!err)
		err = add_workspace(instance);
	if (err) {
		instance_free(instance);
		return err;
	}
	*ret_instance = instance;
	host->allow(host->ctx, host->values[DIRECTORY] ? host->values[DIRECTORY] : ".", true);
	return NULL;
}

const struct fw_toolset fw_toolset_workspace = {
	.name = "workspace",
	.summary = "files of a directory, changed only as approved plans permit; needs "
		   "--role windsurf or antigravity (or executor, planner)",
	.contract = FW_KAIZA,
	.options = options,
	.option_count = OPTION_COUNT,
	.add = add,
	.stop = stop,
	.describe = describe,
	.instructions = fw_workspace_instructions,
	.free = instance_free,
};
