/*
 * plan_show.h - a plan of a workspace: loaded, checked, and shown.
 */
#ifndef FW_CLI_COMMANDS_PLAN_SHOW_H
#define FW_CLI_COMMANDS_PLAN_SHOW_H

#include "tools/workspace/plans.h"

/* Where plans are, and the key that checks them. */
struct cli_plan_place {
	struct fw_root root;
	struct fw_ws_key key;
	const char *revoked; /* directory of the list of revoked plans; NULL: none */
};

struct cli_plan {
	char hash[FW_SHA256_TEXT];
	char *text;
	size_t len;
	struct fw_ws_plan plan;
	char fault[FW_WS_FAULT_SIZE]; /* why it could not be parsed; "": it was */
	const char *distrust;         /* why it may not be used; NULL: it may */
};

/** Raises what fw_ws_plan_load() raises. A plan that is not valid is no error. */
FW_NODISCARD fw_error *cli_plan_load(const struct cli_plan_place *place, const char *hash,
				     struct cli_plan *ret_plan);
void cli_plan_unload(struct cli_plan *plan);

/** One line for people, or one JSON object; `with_text`: its text, too. */
void cli_plan_put_line(const struct cli_plan *plan);
void cli_plan_put_json(const struct cli_plan *plan, bool with_text);

/** The whole text, without control characters. */
void cli_plan_put_text(const struct cli_plan *plan);

/** Text of a plan, without control characters. */
void cli_plan_put_span(struct fw_ws_span span);
void cli_plan_put_scopes(const struct fw_ws_plan *plan);

#endif
