/*
 * process.h - the worker process itself: it reads requests, runs handlers and sends
 * answers.
 */
#ifndef FW_WORKER_PROCESS_H
#define FW_WORKER_PROCESS_H

#include "worker/forkserver.h"

/* Runs in the forked process until its socket ends. */
_Noreturn void fw_worker_process_run(const struct fw_worker_forkserver_setup *setup,
				     uint32_t slot, int socket);

#endif
