/*
 * libpq.h - PostgreSQL's client library, loaded with the first store that a
 * postgresql:// URL names (base/late.h).
 */
#ifndef FW_STORE_LIBPQ_H
#define FW_STORE_LIBPQ_H

#include <libpq-fe.h>

#include <faultwire/error.h>

#include "base/late.h"

#define FW_LIBPQ_FUNCTIONS(X)   \
	X(PQclear)              \
	X(PQcmdTuples)          \
	X(PQconnectPoll)        \
	X(PQconnectStartParams) \
	X(PQconninfoFree)       \
	X(PQconninfoParse)      \
	X(PQconsumeInput)       \
	X(PQenterPipelineMode)  \
	X(PQerrorMessage)       \
	X(PQexitPipelineMode)   \
	X(PQfinish)             \
	X(PQflush)              \
	X(PQfreemem)            \
	X(PQgetResult)          \
	X(PQgetisnull)          \
	X(PQgetvalue)           \
	X(PQisBusy)             \
	X(PQntuples)            \
	X(PQpipelineSync)       \
	X(PQresultErrorField)   \
	X(PQresultStatus)       \
	X(PQsendPrepare)        \
	X(PQsendQuery)          \
	X(PQsendQueryParams)    \
	X(PQsendQueryPrepared)  \
	X(PQsetNoticeProcessor) \
	X(PQsetSingleRowMode)   \
	X(PQsetnonblocking)     \
	X(PQsocket)             \
	X(PQstatus)

struct fw_libpq {
	FW_LIBPQ_FUNCTIONS(FW_LATE_MEMBER)
};
extern struct fw_libpq fw_libpq;

/* Raises internal.unsupported if it is not installed. */
FW_NODISCARD fw_error *fw_libpq_load(void);

#ifndef FW_STORE_LIBPQ_NO_NAMES
#define PQclear fw_libpq.PQclear
#define PQcmdTuples fw_libpq.PQcmdTuples
#define PQconnectPoll fw_libpq.PQconnectPoll
#define PQconnectStartParams fw_libpq.PQconnectStartParams
#define PQconninfoFree fw_libpq.PQconninfoFree
#define PQconninfoParse fw_libpq.PQconninfoParse
#define PQconsumeInput fw_libpq.PQconsumeInput
#define PQenterPipelineMode fw_libpq.PQenterPipelineMode
#define PQerrorMessage fw_libpq.PQerrorMessage
#define PQexitPipelineMode fw_libpq.PQexitPipelineMode
#define PQfinish fw_libpq.PQfinish
#define PQflush fw_libpq.PQflush
#define PQfreemem fw_libpq.PQfreemem
#define PQgetResult fw_libpq.PQgetResult
#define PQgetisnull fw_libpq.PQgetisnull
#define PQgetvalue fw_libpq.PQgetvalue
#define PQisBusy fw_libpq.PQisBusy
#define PQntuples fw_libpq.PQntuples
#define PQpipelineSync fw_libpq.PQpipelineSync
#define PQresultErrorField fw_libpq.PQresultErrorField
#define PQresultStatus fw_libpq.PQresultStatus
#define PQsendPrepare fw_libpq.PQsendPrepare
#define PQsendQuery fw_libpq.PQsendQuery
#define PQsendQueryParams fw_libpq.PQsendQueryParams
#define PQsendQueryPrepared fw_libpq.PQsendQueryPrepared
#define PQsetNoticeProcessor fw_libpq.PQsetNoticeProcessor
#define PQsetSingleRowMode fw_libpq.PQsetSingleRowMode
#define PQsetnonblocking fw_libpq.PQsetnonblocking
#define PQsocket fw_libpq.PQsocket
#define PQstatus fw_libpq.PQstatus
#endif

#endif
