/*
 * fleet.c - see fleet.h.
 */
#include "cli/serve/fleet.h"

#include <string.h>

#include "cli/terminal/input.h"
#include "cli/terminal/report.h"
#include "fleet/fleet.h"

bool serve_is_fleet(const cli_args *args)
{
	return serve_value(args, SERVE_LIMITS_STORE) ||
	       serve_value(args, SERVE_LIMITS_STORE_FILE);
}

fw_error *serve_fleet_url(const cli_args *args, struct fw_engine_url *ret_url)
{
	const char *url = serve_value(args, SERVE_LIMITS_STORE);
	const char *file = serve_value(args, SERVE_LIMITS_STORE_FILE);
	char line[2048];
	fw_error *err;

	if (url && file)
		return cli_usage("--limits-store and --limits-store-file cannot both be given");
	if (url)
		return fw_engine_url_read("--limits-store", url, ret_url);
	FW_TRY(cli_read_first_line(file, "--limits-store-file", line, sizeof line));
	err = fw_engine_url_read("--limits-store-file", line, ret_url);
	explicit_bzero(line, sizeof line);
	return err;
}

static fw_error *check_unused(const cli_args *args)
{
	static const enum serve_option needing[] = { SERVE_LIMITS_LEASE, SERVE_LIMITS_WAIT,
						     SERVE_FLEET };

	for (size_t i = 0; i < sizeof needing / sizeof *needing; i++)
		if (serve_value(args, needing[i]))
			return cli_usage("--%s requires --limits-store",
					 serve_options[needing[i]].name);
	return NULL;
}

fw_error *serve_fleet_begin(struct serve_shared *shared)
{
	const cli_args *args = shared->args;
	const char *name = serve_value(args, SERVE_FLEET);
	struct fw_engine_url url;
	struct fw_fleet_options how = { .loop = &shared->loop,
					.server = shared->server,
					.url = &url,
					.name = name ? name : "default",
					.wait_ms = FW_FLEET_WAIT_MS };
	fw_error *err;

	if (!serve_is_fleet(args))
		return check_unused(args);
	if (!fw_fleet_name_is_valid(how.name))
		return cli_usage("--fleet takes up to %d letters, digits, '-', '_' and '.'",
				 FW_FLEET_NAME_MAX);
	FW_TRY(serve_number_read("--limits-lease", serve_value(args, SERVE_LIMITS_LEASE),
				 FW_FLEET_LEASE_MAX_MS, &how.lease_ms));
	FW_TRY(serve_number_read("--limits-wait", serve_value(args, SERVE_LIMITS_WAIT),
				 FW_FLEET_WAIT_MAX_MS, &how.wait_ms));
	if (!how.wait_ms)
		return cli_usage("--limits-wait takes at least 1");
	FW_TRY(serve_fleet_url(args, &url));
	err = fw_fleet_new(&how, &shared->fleet);
	explicit_bzero(&url, sizeof url);
	return err;
}
