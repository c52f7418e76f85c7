/*
 * level.h - how important a log message is; the levels of syslog and MCP.
 *
 * The one rule to remember: they are ordered, and a later one is more important.
 */
#ifndef FAULTWIRE_LEVEL_H
#define FAULTWIRE_LEVEL_H

#include <faultwire/base.h>

FW_EXTERN_C_BEGIN

typedef enum fw_log_level {
	FW_LOG_DEBUG,
	FW_LOG_INFO,
	FW_LOG_NOTICE,
	FW_LOG_WARNING,
	FW_LOG_ERROR,
	FW_LOG_CRITICAL,
	FW_LOG_ALERT,
	FW_LOG_EMERGENCY,
	FW_LOG_LEVEL_COUNT
} fw_log_level;

FW_EXTERN_C_END

#endif
