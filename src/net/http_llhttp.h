/*
 * http_llhttp.h - llhttp, the HTTP/1 parser, loaded when a server listens on
 * HTTP (base/late.h).
 */
#ifndef FW_NET_HTTP_LLHTTP_H
#define FW_NET_HTTP_LLHTTP_H

#include <llhttp.h>

#include <faultwire/error.h>

#include "base/late.h"

#define FW_LLHTTP_FUNCTIONS(X)      \
	X(llhttp_execute)           \
	X(llhttp_get_errno)         \
	X(llhttp_get_error_pos)     \
	X(llhttp_get_error_reason)  \
	X(llhttp_init)              \
	X(llhttp_method_name)       \
	X(llhttp_reset)             \
	X(llhttp_resume)            \
	X(llhttp_should_keep_alive) \
	X(llhttp_settings_init)

struct fw_llhttp {
	FW_LLHTTP_FUNCTIONS(FW_LATE_MEMBER)
};
extern struct fw_llhttp fw_llhttp;

/* Raises internal.unsupported if the library is not installed. */
fw_error *fw_llhttp_load(void);

#ifndef FW_NET_HTTP_LLHTTP_NO_NAMES
#define llhttp_execute fw_llhttp.llhttp_execute
#define llhttp_get_errno fw_llhttp.llhttp_get_errno
#define llhttp_get_error_pos fw_llhttp.llhttp_get_error_pos
#define llhttp_get_error_reason fw_llhttp.llhttp_get_error_reason
#define llhttp_init fw_llhttp.llhttp_init
#define llhttp_method_name fw_llhttp.llhttp_method_name
#define llhttp_reset fw_llhttp.llhttp_reset
#define llhttp_resume fw_llhttp.llhttp_resume
#define llhttp_should_keep_alive fw_llhttp.llhttp_should_keep_alive
#define llhttp_settings_init fw_llhttp.llhttp_settings_init
#endif

#endif
