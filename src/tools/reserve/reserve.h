/*
 * reserve.h - file reservations between agents: the toolset `reserve`, and the check that
 * the workspace makes before it writes. See docs/reservations.md.
 *
 * Reservations are in the store of the server (book.h). Only the server process opens it,
 * and never a worker: workers cannot reach the tokens and budgets that are in the same
 * store, and a store may be a database that a sandbox does not let them connect to. The
 * store has a thread of its own, so the tools finish later (FW_RUN_ASYNC), and a worker
 * asks the server (fw_server_add_answerer()).
 *
 * The one rule to remember: toolsets of one server share one fw_reserve.
 */
#ifndef FW_TOOLS_RESERVE_RESERVE_H
#define FW_TOOLS_RESERVE_RESERVE_H

#include "tools/toolset.h"

struct fw_reserve;

/* The method of the question that a worker asks before it writes; params are
 * {"root": an absolute path, "paths": [relative to it]}, and the answer is
 * {"count", "conflicts", "retry_after"}, see fw_reserve_read_answer(). */
#define FW_RESERVE_QUESTION "faultwire/reservations"

/* That of the server, made by the first caller. NULL if the server has no store. Raises
 * internal.out_of_memory, and what opening the directory raises. */
FW_NODISCARD fw_error *fw_reserve_get(const struct fw_toolset_host *host,
				      struct fw_reserve **ret_reserve);
/* Ends its thread; after the server has stopped and before it is freed. NULL is a no-op. */
void fw_reserve_stop(struct fw_reserve *reserve);
/* For each fw_reserve_get(), after the server was freed. NULL is a no-op. */
void fw_reserve_unref(struct fw_reserve *reserve);

/* From now on the server answers FW_RESERVE_QUESTION. Once per server. */
FW_NODISCARD fw_error *fw_reserve_answer_writes(struct fw_reserve *reserve);

/* Reads an answer: NULL if the files may be written. Raises reservation.conflict,
 * internal.unexpected. */
FW_NODISCARD fw_error *fw_reserve_read_answer(const char *json);

#endif
