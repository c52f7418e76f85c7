/*
 * observe.h - everything that `faultwire serve` records about its failures, for a
 * server of your own: audit log, incidents, operator's log, metrics, alerts.
 *
 * The one rule to remember: call fw_server_observe() once, after the tools were added
 * and after the server listens, and before it runs.
 */
#ifndef FAULTWIRE_OBSERVE_H
#define FAULTWIRE_OBSERVE_H

#include <faultwire/error.h>
#include <faultwire/level.h>

FW_EXTERN_C_BEGIN

typedef struct fw_server fw_server;

/** How the log is written. */
typedef enum fw_log_form {
	/** journald if the descriptor leads there, text on a terminal, else JSON */
	FW_LOG_AUTO,
	FW_LOG_JSON,
	FW_LOG_PLAIN,
	FW_LOG_JOURNALD,
	FW_LOG_OFF
} fw_log_form;

/** When the audit log is synced to disk. */
typedef enum fw_audit_sync {
	FW_AUDIT_SYNC_ALWAYS,   /**< before each reply */
	FW_AUDIT_SYNC_INTERVAL, /**< at intervals; a reply waits for the write only */
	FW_AUDIT_SYNC_OFF       /**< never; a reply waits for the write only */
} fw_audit_sync;

/** Begin with FW_OBSERVE_OPTIONS_INIT, which is what `faultwire serve` does by
 *  default. Strings are copied. */
typedef struct fw_observe_options {
	size_t struct_size;
	/** Directory for the files below; created if it does not exist. NULL:
	 *  $XDG_STATE_HOME/faultwire or ~/.local/state/faultwire, where
	 *  `faultwire incident`, `audit` and `alerts` look. */
	const char *state_dir;
	const char *audit_file; /**< NULL: audit-log.jsonl in state_dir; "off": none */
	fw_audit_sync audit_sync;
	uint32_t audit_interval_ms; /**< of FW_AUDIT_SYNC_INTERVAL; 0: 200 */
	uint64_t audit_bytes;       /**< size at which the log is rotated; 0: 64 MiB */
	/** Record arguments with secrets redacted, instead of their hash. */
	bool audit_arguments;
	const char *incident_file;    /**< NULL: incidents.db in state_dir; "off": none */
	uint32_t incident_days;       /**< older ones are deleted; 0: 30 */
	uint64_t incident_bytes;      /**< largest size of the database; 0: 256 MiB */
	fw_log_form log_form;         /**< on standard error */
	fw_log_level log_level;       /**< lower ones are not logged */
	const char *webhook_url;      /**< alerts are posted to it; NULL: none */
	const char *webhook_secret;   /**< signs these requests; NULL: not signed */
	const char *alertmanager_url; /**< alerts are sent to it; NULL: none */
	bool no_metrics;              /**< no page /metrics */
	bool no_alerts;               /**< no alerts and no page /alerts */
} fw_observe_options;

#define FW_OBSERVE_OPTIONS_DEFAULTS \
	.struct_size = sizeof(fw_observe_options), .log_level = FW_LOG_INFO
#ifdef __cplusplus
static inline fw_observe_options fw_observe_options_init(void)
{
	fw_observe_options made = fw_init<fw_observe_options>();

	made.log_level = FW_LOG_INFO;
	return made;
}
#define FW_OBSERVE_OPTIONS_INIT fw_observe_options_init()
#else
#define FW_OBSERVE_OPTIONS_INIT             \
	{                                   \
		FW_OBSERVE_OPTIONS_DEFAULTS \
	}
#endif

/**
 * Record every failure of `server` as `faultwire serve` does. `options` may be NULL:
 * the defaults. Starts threads, and therefore the workers first
 * (fw_server_prepare()); a confined server must be allowed to write to the state
 * directory. fw_server_free() writes what is queued and ends it. The log is one per
 * process: a second server uses that of the first.
 *
 * If it fails, free the server. Raises internal.api_misuse (twice, too late, or there
 * is no state directory because HOME is not set), audit.log_failed and
 * governance.invariant_violation (the audit log cannot be continued), what
 * fw_server_prepare() raises, errors of the files, internal.out_of_memory.
 */
FW_API FW_NODISCARD fw_error *fw_server_observe(fw_server *server,
						const fw_observe_options *options);

FW_EXTERN_C_END

#endif
