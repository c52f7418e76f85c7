/*
 * log.c - see log.h.
 */
#include "cli/serve/log.h"

#include <string.h>
#include <unistd.h>

#include "cli/terminal/report.h"
#include "observe/log/log.h"

static fw_error *read_form(const char *text, enum fw_log_form *ret_form)
{
	static const char *const names[] = { "auto", "json", "text", "journald", "off" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_form = (enum fw_log_form)i;
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

fw_error *serve_log_add(fw_server *server, const char *form, const char *level)
{
	struct fw_log_options options = { .level = FW_LOG_INFO, .fd = STDERR_FILENO };
	fw_observer observer = fw_log_observer();

	if (form)
		FW_TRY(read_form(form, &options.form));
	if (level)
		FW_TRY(read_level(level, &options.level));
	if (options.form == FW_LOG_OFF)
		return NULL;
	FW_TRY(fw_log_start(&options));
	return fw_server_add_observer(server, &observer);
}
