/*
 * hiredis.h - hiredis, the client library of Redis and Valkey, loaded when a server shares
 * state with other replicas (base/late.h).
 */
#ifndef FW_FLEET_HIREDIS_H
#define FW_FLEET_HIREDIS_H

#include <hiredis/async.h>
#include <hiredis/hiredis.h>

#include <faultwire/error.h>

#include "base/late.h"

#define FW_HIREDIS_FUNCTIONS(X)  \
	X(redisAsyncCommandArgv) \
	X(redisAsyncConnect)     \
	X(redisAsyncFree)        \
	X(redisAsyncHandleRead)  \
	X(redisAsyncHandleWrite) \
	X(redisAsyncSetConnectCallback)

struct fw_hiredis {
	FW_HIREDIS_FUNCTIONS(FW_LATE_MEMBER)
};
extern struct fw_hiredis fw_hiredis;

/* Raises internal.unsupported if the library is not installed. */
FW_NODISCARD fw_error *fw_hiredis_load(void);

#ifndef FW_FLEET_HIREDIS_NO_NAMES
#define redisAsyncCommandArgv fw_hiredis.redisAsyncCommandArgv
#define redisAsyncConnect fw_hiredis.redisAsyncConnect
#define redisAsyncFree fw_hiredis.redisAsyncFree
#define redisAsyncHandleRead fw_hiredis.redisAsyncHandleRead
#define redisAsyncHandleWrite fw_hiredis.redisAsyncHandleWrite
#define redisAsyncSetConnectCallback fw_hiredis.redisAsyncSetConnectCallback
#endif

#endif
