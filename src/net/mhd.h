/*
 * mhd.h - libmicrohttpd, loaded when a server listens on HTTP (base/late.h).
 */
#ifndef FW_NET_MHD_H
#define FW_NET_MHD_H

#include <microhttpd.h>

#include <faultwire/error.h>

#include "base/late.h"

#define FW_MHD_FUNCTIONS(X)                  \
	X(MHD_add_response_header)           \
	X(MHD_create_response_from_buffer)   \
	X(MHD_create_response_from_callback) \
	X(MHD_destroy_response)              \
	X(MHD_get_connection_info)           \
	X(MHD_get_connection_values_n)       \
	X(MHD_get_daemon_info)               \
	X(MHD_get_timeout)                   \
	X(MHD_lookup_connection_value)       \
	X(MHD_queue_response)                \
	X(MHD_quiesce_daemon)                \
	X(MHD_resume_connection)             \
	X(MHD_run)                           \
	X(MHD_start_daemon)                  \
	X(MHD_stop_daemon)                   \
	X(MHD_suspend_connection)

struct fw_mhd {
	FW_MHD_FUNCTIONS(FW_LATE_MEMBER)
};
extern struct fw_mhd fw_mhd;

/* Raises internal.unsupported where the library is not installed. */
fw_error *fw_mhd_load(void);

#ifndef FW_NET_MHD_NO_NAMES
#define MHD_add_response_header fw_mhd.MHD_add_response_header
#define MHD_create_response_from_buffer fw_mhd.MHD_create_response_from_buffer
#define MHD_create_response_from_callback fw_mhd.MHD_create_response_from_callback
#define MHD_destroy_response fw_mhd.MHD_destroy_response
#define MHD_get_connection_info fw_mhd.MHD_get_connection_info
#define MHD_get_connection_values_n fw_mhd.MHD_get_connection_values_n
#define MHD_get_daemon_info fw_mhd.MHD_get_daemon_info
#define MHD_get_timeout fw_mhd.MHD_get_timeout
#define MHD_lookup_connection_value fw_mhd.MHD_lookup_connection_value
#define MHD_queue_response fw_mhd.MHD_queue_response
#define MHD_quiesce_daemon fw_mhd.MHD_quiesce_daemon
#define MHD_resume_connection fw_mhd.MHD_resume_connection
#define MHD_run fw_mhd.MHD_run
#define MHD_start_daemon fw_mhd.MHD_start_daemon
#define MHD_stop_daemon fw_mhd.MHD_stop_daemon
#define MHD_suspend_connection fw_mhd.MHD_suspend_connection
#endif

#endif
