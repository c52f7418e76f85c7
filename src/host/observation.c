/*
 * observation.c - see observation.h.
 */
#include "host/observation.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/serve.h>

#include "base/mem.h"
#include "core/options.h"
#include "mcp/server.h"
#include "observe/log/log.h"
#include "store/store.h"

enum { DAY_S = 24 * 3600 };
static const char FUNCTION[] = "fw_server_observe";

static bool is_off(const char *file)
{
	return file && strcmp(file, "off") == 0;
}

/* ---- log, audit log, incidents --------------------------------------------- */

static fw_error *add_log(struct fw_observation *observation, fw_server *server,
			 const fw_observe_options *options)
{
	const struct fw_log_options log = { .form = options->log_form,
					    .level = options->log_level,
					    .fd = STDERR_FILENO };
	fw_observer observer = fw_log_observer();

	if (options->log_form == FW_LOG_OFF)
		return NULL;
	if (!fw_log_is_on()) {
		FW_TRY(fw_log_start(&log));
		observation->has_log = true;
	}
	return fw_server_add_observer(server, &observer);
}

/* The file of an option, or `name` in the state directory. */
static fw_error *find_file(const fw_observe_options *options, const char *file,
			   const char *name, char ret_path[FW_HOME_PATH_SIZE])
{
	if (!file)
		return fw_home_path(options->state_dir, name, true, ret_path);
	if (snprintf(ret_path, FW_HOME_PATH_SIZE, "%s", file) >= FW_HOME_PATH_SIZE)
		return fw_raise_internal_api_misuse(FUNCTION, "the name of a file is too long");
	return NULL;
}

fw_error *fw_observation_open_audit(struct fw_observation *observation,
				    const fw_observe_options *options)
{
	char heads[FW_HOME_PATH_SIZE];
	struct fw_audit_options audit = {
		.sync = options->audit_sync,
		.interval_ms = options->audit_interval_ms,
		.rotate_bytes = options->audit_bytes,
		.keep_args = options->audit_arguments,
		.describe = observation->describe,
		.describe_ctx = observation->describe_ctx,
	};

	if (is_off(options->audit_file) || observation->audit)
		return NULL;
	FW_TRY(find_file(options, options->audit_file, "audit-log.jsonl",
			 observation->audit_path));
	if (!observation->audit_path[0])
		return fw_raise_internal_api_misuse(
			FUNCTION, "HOME is not set: name a state_dir or an audit_file");
	/* The head of the log is stored outside of it, too. */
	FW_TRY(fw_home_path(options->state_dir, "heads/x", true, heads));
	if (heads[0])
		*strrchr(heads, '/') = '\0';
	audit.heads = heads[0] ? heads : NULL;
	return fw_audit_open(observation->audit_path, &audit, &observation->audit);
}

static fw_error *add_audit(struct fw_observation *observation, fw_server *server,
			   const fw_observe_options *options)
{
	fw_observer observer;

	FW_TRY(fw_observation_open_audit(observation, options));
	if (!observation->audit)
		return NULL;
	observer = fw_audit_observer(observation->audit);
	return fw_server_add_observer(server, &observer);
}

/* The stem of files with incidents that are not in the store yet: beside the file of a store,
 * or in the state directory. */
static fw_error *find_stem(const fw_observe_options *options, const char *store,
			   char ret_stem[FW_HOME_PATH_SIZE])
{
	if (fw_store_is_shared(store))
		return fw_home_path(options->state_dir, "incidents-waiting/incidents", true,
				    ret_stem);
	(void)snprintf(ret_stem, FW_HOME_PATH_SIZE, "%s", fw_store_file_path(store));
	return NULL;
}

static fw_error *add_incidents(struct fw_observation *observation, fw_server *server,
			       const fw_observe_options *options)
{
	struct fw_incidents_options incidents = {
		.max_age_s = (int64_t)options->incident_days * DAY_S,
		.max_bytes = options->incident_bytes,
	};
	struct fw_store *store = NULL;
	char path[FW_HOME_PATH_SIZE], stem[FW_HOME_PATH_SIZE] = "";
	fw_observer observer;

	if (is_off(options->incident_file))
		return NULL;
	FW_TRY(find_file(options, options->incident_file, "incidents.db", path));
	if (!path[0])
		return NULL;
	FW_TRY(find_stem(options, path, stem));
	incidents.stem = stem[0] ? stem : NULL;
	incidents.is_shared = fw_store_is_shared(path);
	FW_TRY(fw_store_open(path, NULL, &store));
	FW_TRY(fw_incidents_new(store, &incidents, &observation->incidents));
	observer = fw_incidents_observer(observation->incidents);
	return fw_server_add_observer(server, &observer);
}

fw_error *fw_observation_begin(struct fw_observation *observation, fw_server *server,
			       const fw_observe_options *options)
{
	FW_TRY(add_log(observation, server, options));
	FW_TRY(add_audit(observation, server, options));
	return add_incidents(observation, server, options);
}

/* ---- alerts ------------------------------------------------------------------ */

static const struct fw_observation_metric alert_metrics[] = {
	{ "faultwire_alerts_firing", "Alerts that are firing.", fw_alerting_firing, false },
	{ "faultwire_alert_webhook_waiting", "Alerts waiting to be sent to the webhook.",
	  fw_alerting_waiting, false },
	{ "faultwire_alert_webhook_delivered_total", "Alerts that the webhook accepted.",
	  fw_alerting_delivered, true },
	{ "faultwire_alert_webhook_lost_total",
	  "Alerts dropped after failed attempts, or because the queue was full.",
	  fw_alerting_lost, true },
	{ "faultwire_alertmanager_posts_total", "Successful posts to the Alertmanager.",
	  fw_alerting_posted, true },
	{ "faultwire_alert_send_failures_total", "Failed attempts to send an alert.",
	  fw_alerting_failed, true },
};

static fw_error *add_alerts(struct fw_observation *observation, fw_server *server,
			    struct fw_loop *loop, const fw_observe_options *options)
{
	fw_observer observer = { .struct_size = sizeof(fw_observer),
				 .finished = fw_alerting_finished };
	char name[64], path[FW_HOME_PATH_SIZE];
	fw_error *err;
	const struct fw_alerting_options alerting = {
		.log_fd = -1, /* alerts are logged as events */
		.loop = loop,
		.webhook_url = options->webhook_url,
		.webhook_secret = options->webhook_secret,
		.alertmanager_url = options->alertmanager_url,
		.state_file = path,
		.store = observation->alert_store,
		.replica = observation->replica,
		.server = fw_server_url(server) ? fw_server_url(server) : "stdio",
	};

	/* Each process has a file of its own. */
	(void)snprintf(name, sizeof name, "alerts/%ld.json", (long)getpid());
	err = fw_home_path(options->state_dir, name, true, path);
	/* Not fatal, as where the disk is full: the file is for `faultwire alerts` alone. */
	if (err)
		path[0] = '\0';
	fw_error_free(err);
	FW_TRY(fw_alerting_new(&alerting, &observation->alerting));
	observer.ctx = observation->alerting;
	FW_TRY(fw_observation_add_list(observation, alert_metrics,
				       sizeof alert_metrics / sizeof *alert_metrics,
				       observation->alerting));
	FW_TRY(fw_server_add_observer(server, &observer));
	return fw_server_add_page(server, "/alerts", false, fw_alerting_page,
				  observation->alerting);
}

fw_error *fw_observation_complete(struct fw_observation *observation, fw_server *server,
				  struct fw_loop *loop, const fw_observe_options *options)
{
	/* There is a page for them over HTTP only. */
	if (!options->no_metrics && fw_server_url(server))
		FW_TRY(fw_observation_add_metrics(observation, server));
	return options->no_alerts ? NULL : add_alerts(observation, server, loop, options);
}

/* ---- the end ------------------------------------------------------------------ */

bool fw_observation_close(struct fw_observation *observation)
{
	bool is_over = fw_audit_close(observation->audit);

	observation->audit = NULL;
	return is_over;
}

void fw_observation_clear(struct fw_observation *observation)
{
	fw_alerting_free(observation->alerting);
	observation->alerting = NULL;
	fw_metrics_free(observation->metrics);
	observation->metrics = NULL;
	fw_incidents_free(observation->incidents);
	observation->incidents = NULL;
	if (observation->has_log)
		fw_log_stop();
	observation->has_log = false;
}

/* ---- a server of one's own ------------------------------------------------------ */

static bool close_attached(void *ctx)
{
	return fw_observation_close(ctx);
}

static void free_attached(void *ctx)
{
	fw_log_event(FW_LOG_INFO, "faultwire", "server_stopped", NULL, 0);
	fw_observation_clear(ctx);
	fw__release(ctx);
}

static fw_error *observe(struct fw_observation *observation, fw_server *server,
			 const fw_observe_options *options)
{
	const char *url = fw_server_url(server);

	/* Before the first thread: workers are forked. */
	FW_TRY(fw_server_prepare(server));
	FW_TRY(fw_observation_begin(observation, server, options));
	FW_TRY(fw_observation_complete(observation, server, server->residence.loop, options));
	fw_log_event(FW_LOG_INFO, "faultwire", "server_started",
		     (const fw_field[]){ fw_log_text("version", fw_version()),
					 fw_log_text("name", server->identity.name),
					 fw_log_text("transport", url ? "http" : "stdio"),
					 fw_log_text("url", url) },
		     4);
	return NULL;
}

fw_error *fw_server_observe(fw_server *server, const fw_observe_options *options)
{
	fw_observe_options known = FW_OBSERVE_OPTIONS_INIT;
	struct fw_observation *observation;

	if (!server)
		return fw_raise_internal_api_misuse(FUNCTION, "NULL argument");
	if (options)
		FW_TRY(fw_options_read(FUNCTION, options, &known, sizeof known));
	if (server->companion.free)
		return fw_raise_internal_api_misuse(FUNCTION, "the server is observed already");
	if (server->state != FW_IDLE)
		return fw_raise_internal_api_misuse(FUNCTION, "the server runs already");
	observation = fw__allocate(sizeof *observation);
	if (!observation)
		return fw_raise_internal_out_of_memory();
	memset(observation, 0, sizeof *observation);
	/* From here on fw_server_free() frees everything that was added. */
	server->companion = (struct fw_companion){ .close = close_attached,
						   .free = free_attached,
						   .ctx = observation };
	return observe(observation, server, &known);
}
