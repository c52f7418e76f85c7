/*
 * keeper.h - the process that forks fork servers for a confined server, which cannot fork
 * itself.
 */
#ifndef FW_WORKER_KEEPER_H
#define FW_WORKER_KEEPER_H

#include "worker/forkserver.h"

struct fw_worker_keeper {
	pid_t pid; /* 0: none */
	int control;
	uint32_t asked; /* number of the last order */
	bool is_lost;   /* it has died, so no fork server can be forked until a restart */
};

/* Starts the keeper. Call it before the server is confined, while it has one thread.
 * Raises io errors. */
FW_NODISCARD fw_error *fw_worker_keeper_start(struct fw_worker_keeper *keeper,
					      const struct fw_worker_forkserver_setup *setup);
/* Has the keeper fork a fork server and waits for that. Raises io errors. */
FW_NODISCARD fw_error *fw_worker_keeper_fork(struct fw_worker_keeper *keeper,
					     struct fw_worker_forkserver *forkserver);
/* Ends the keeper and its fork server, and waits for that. */
void fw_worker_keeper_end(struct fw_worker_keeper *keeper);

#endif
