/*
 * circuits.h - breakers of upstreams that replicas share: when one replica suspends an
 * upstream, all do, and one of them tries it again after the pause.
 *
 * Once per beat a replica compares each breaker with the engine: what has changed here is
 * written, what has changed elsewhere is applied. So a change is known everywhere within two
 * beats. Without the engine each breaker is that of its replica.
 *
 * The one rule to remember: a breaker is borrowed until fw_circuits_close().
 */
#ifndef FW_FLEET_CIRCUITS_H
#define FW_FLEET_CIRCUITS_H

#include <stddef.h>
#include <stdint.h>

#include <faultwire/error.h>

#include "base/loop.h"
#include "fleet/engine.h"
#include "policy/breaker.h"

struct fw_circuits;

/* Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_circuits_new(struct fw_loop *loop, const char *fleet,
				       struct fw_engine *engine,
				       struct fw_circuits **ret_circuits);
/* Before the engine and the breakers are freed. NULL is a no-op. */
void fw_circuits_close(struct fw_circuits *circuits);
/* NULL is a no-op. */
void fw_circuits_free(struct fw_circuits *circuits);

/* Shares the breaker of the upstream at `url`. More than FW_LIMIT_FLEET_BREAKERS are not
 * shared. Raises internal.out_of_memory. */
FW_NODISCARD fw_error *fw_circuits_add(struct fw_circuits *circuits, const char *url,
				       struct fw_breaker *breaker);
/* Once per second. */
void fw_circuits_beat(struct fw_circuits *circuits);
/* How often a breaker was opened or closed because of another replica. */
uint64_t fw_circuits_applied(const struct fw_circuits *circuits);

#endif
