/*
 * observers.c - see observers.h.
 */
#include "cli/serve/observers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/decimal.h"
#include "cli/serve/limit.h"
#include "cli/serve/shared.h"
#include "cli/state.h"
#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "mcp/page.h"
#include "observe/audit/audit_anchor.h"

enum {
	AUDIT_BYTES_LEAST = 64 * 1024, /* a file must have room for a line */
	INCIDENT_BYTES_LEAST = 1024 * 1024,
	DAYS_MOST = 3650,
	INTERVAL_MOST_MS = 60000
};
static const uint64_t bytes_most = UINT64_C(1) << 40;

/* ---- the values ----------------------------------------------------------------- */

static fw_error *read_form(const char *text, fw_log_form *ret_form)
{
	static const char *const names[] = { "auto", "json", "text", "journald", "off" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_form = (fw_log_form)i;
			return NULL;
		}
	return cli_usage("--log must be one of json, text, journald, off; found \"%s\"", text);
}

static fw_error *read_level(const char *text, fw_log_level *ret_level)
{
	static const char *const names[] = { "debug", "info",     "notice", "warning",
					     "error", "critical", "alert",  "emergency" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_level = (fw_log_level)i;
			return NULL;
		}
	return cli_usage("--log-level must be one of debug, info, notice, warning, error, "
			 "critical; found \"%s\"",
			 text);
}

static fw_error *read_sync(const char *word, fw_observe_options *options)
{
	static const char interval[] = "interval=";
	uint64_t ms;

	if (!word || strcmp(word, "always") == 0)
		return NULL;
	if (strcmp(word, "off") == 0) {
		options->audit_sync = FW_AUDIT_SYNC_OFF;
		return NULL;
	}
	options->audit_sync = FW_AUDIT_SYNC_INTERVAL;
	if (strcmp(word, "interval") == 0)
		return NULL;
	if (strncmp(word, interval, sizeof interval - 1) == 0) {
		word += sizeof interval - 1;
		if (fw_decimal_read(word, 1, INTERVAL_MOST_MS, &ms)) {
			options->audit_interval_ms = (uint32_t)ms;
			return NULL;
		}
	}
	return cli_usage("--audit-sync takes always, interval, interval=MS (up to 60000) or "
			 "off");
}

static fw_error *read_age(const char *text, uint32_t *ret_days)
{
	const char *end = text;
	uint64_t days;

	if (!text)
		return NULL;
	if (!fw_decimal_take(&end, &days) || days < 1 || days > DAYS_MOST ||
	    (*end && strcmp(end, "d") != 0))
		return cli_usage("--incidents-age takes a number of days from 1 to %d; "
				 "found \"%s\"",
				 DAYS_MOST, text);
	*ret_days = (uint32_t)days;
	return NULL;
}

static fw_error *read_words(const cli_args *args, fw_observe_options *options)
{
	const char *form = serve_value(args, SERVE_LOG);
	const char *level = serve_value(args, SERVE_LOG_LEVEL);
	const char *arguments = serve_value(args, SERVE_AUDIT_ARGS);
	const char *metrics = serve_value(args, SERVE_METRICS);

	if (form)
		FW_TRY(read_form(form, &options->log_form));
	if (level)
		FW_TRY(read_level(level, &options->log_level));
	options->audit_arguments = arguments && strcmp(arguments, "redacted") == 0;
	options->no_metrics = metrics && strcmp(metrics, "off") == 0;
	return read_sync(serve_value(args, SERVE_AUDIT_SYNC), options);
}

const char *serve_anchors(const cli_args *args)
{
	const char *given = serve_database(args, SERVE_AUDIT_ANCHORS);
	const char *audit = serve_value(args, SERVE_AUDIT);
	bool is_off =
		(given && strcmp(given, "off") == 0) || (audit && strcmp(audit, "off") == 0);

	return is_off ? NULL : given;
}

fw_error *serve_observers_read(struct serve_observers *observers, const cli_args *args,
			       fw_observe_options *ret_options)
{
	fw_observe_options options = FW_OBSERVE_OPTIONS_INIT;
	const char *secret_file = serve_value(args, SERVE_ALERT_SECRET_FILE);

	FW_TRY(read_words(args, &options));
	FW_TRY(serve_bytes_read("--audit-bytes", serve_value(args, SERVE_AUDIT_BYTES),
				AUDIT_BYTES_LEAST, bytes_most, &options.audit_bytes));
	FW_TRY(read_age(serve_value(args, SERVE_INCIDENTS_AGE), &options.incident_days));
	FW_TRY(serve_bytes_read("--incidents-bytes", serve_value(args, SERVE_INCIDENTS_BYTES),
				INCIDENT_BYTES_LEAST, bytes_most, &options.incident_bytes));
	options.audit_file = serve_value(args, SERVE_AUDIT);
	observers->anchors = serve_anchors(args);
	observers->replica = serve_value(args, SERVE_REPLICA);
	observers->observation.alert_store = serve_shared_store(args);
	observers->observation.replica = observers->replica;
	options.incident_file = serve_database(args, SERVE_INCIDENTS);
	options.webhook_url = serve_value(args, SERVE_ALERT_WEBHOOK);
	options.alertmanager_url = serve_value(args, SERVE_ALERTMANAGER);
	if (secret_file && !options.webhook_url &&
	    !(observers->anchors && fw_audit_anchor_is_webhook(observers->anchors)))
		return cli_usage("--alert-secret-file requires --alert-webhook, or a webhook "
				 "for --audit-anchors");
	if (secret_file)
		FW_TRY(cli_read_first_line(secret_file, "--alert-secret-file",
					   observers->secret, sizeof observers->secret));
	options.webhook_secret = observers->secret[0] ? observers->secret : NULL;
	*ret_options = options;
	return NULL;
}

/* ---- beginning ------------------------------------------------------------------ */

/* A record of a change has no error that names the session. */
static void describe(void *ctx, const fw_outcome *outcome, struct fw_audit_record *record)
{
	const struct serve_observers *observers = ctx;

	serve_toolsets_describe(&observers->toolsets, outcome, &record->scope);
}

static fw_error *check_audit_path(const fw_observe_options *options)
{
	char path[CLI_PATH_SIZE];

	if (options->audit_file)
		return NULL;
	FW_TRY(cli_state_path("", false, path));
	return path[0] ? NULL
		       : cli_usage("HOME is not set, so there is no default audit log: give "
				   "--audit FILE, or --audit off");
}

/* Which options help. */
static void add_hint(fw_error *err, const char *file)
{
	char hint[CLI_PATH_SIZE + 128];

	(void)snprintf(hint, sizeof hint,
		       "The log is %s; choose another one with --audit FILE, or none with "
		       "--audit off.",
		       file);
	fw_error_set_hint(err, hint);
}

/* Records are written all the same, so the server stays ready. */
static bool check_anchors(void *ctx, char *text, size_t size)
{
	struct fw_audit_anchorer_health health = fw_audit_anchorer_health(ctx);

	if (health.is_down)
		(void)snprintf(text, size,
			       "audit anchors: cannot be written, the last one is record %llu",
			       (unsigned long long)health.seq);
	return true;
}

fw_error *serve_observers_begin(struct serve_observers *observers, fw_server *server,
				struct fw_loop *loop, const fw_observe_options *options)
{
	struct fw_observation *observation = &observers->observation;
	struct fw_audit_health health;
	fw_error *err;

	FW_TRY(check_audit_path(options));
	observation->describe = describe;
	observation->describe_ctx = observers;
	err = fw_observation_begin(observation, server, options);
	if (err) {
		if (!observation->audit && observation->audit_path[0] &&
		    fw_error_code(err) != FW_GOVERNANCE_INVARIANT_VIOLATION)
			add_hint(err, observation->audit_path);
		return err;
	}
	if (observation->audit && observers->anchors) {
		const struct fw_audit_anchorer_options anchors = {
			.url = observers->anchors,
			.replica = observers->replica,
			.loop = loop,
			.secret = options->webhook_secret,
		};

		FW_TRY(fw_audit_anchorer_new(observation->audit, &anchors,
					     &observers->anchorer));
		FW_TRY(fw_server__add_check(server, check_anchors, observers->anchorer));
	}
	if (observation->audit && !fw_audit_is_up(observation->audit)) {
		fw_audit_health(observation->audit, &health);
		cli_remark("the audit log cannot be written now (%s); tools that make changes "
			   "are refused until it can",
			   health.failure ? health.failure : "it has just recovered");
	}
	return NULL;
}
