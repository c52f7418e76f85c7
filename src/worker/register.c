/*
 * register.c - creates a server that can run tools in processes.
 *
 * The protocol core (src/mcp/) does not call into this folder. Here a new server
 * gets the function that creates its default pool of workers, the one for tools
 * with FW_RUN_PROCESS that name no pool.
 */
#include <faultwire/workers.h>

#include "mcp/server.h"

static fw_error *make_default_pool(fw_server *server, fw_workers **ret_workers)
{
	static const fw_workers_options options = FW_WORKERS_INIT;

	return fw_server_add_workers(server, &options, ret_workers);
}

fw_error *fw_server__new_on(struct fw_loop *loop, const fw_server_options *options,
			    fw_server **ret_server)
{
	FW_TRY(fw_server__create(options, loop, ret_server));
	(*ret_server)->runners.make_workers = make_default_pool;
	return NULL;
}

fw_error *fw_server_new(const fw_server_options *options, fw_server **ret_server)
{
	return fw_server__new_on(NULL, options, ret_server);
}
