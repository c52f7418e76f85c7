/*
 * curl.h - libcurl, loaded when the first HTTP request is to be sent (base/late.h).
 */
#ifndef FW_IO_CURL_H
#define FW_IO_CURL_H

#include <curl/curl.h>

#include <faultwire/error.h>

#include "base/late.h"

/* These are checked by macros of the header, which would take the names. */
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define FW_CURL_FUNCTIONS(X)        \
	X(curl_easy_cleanup)        \
	X(curl_easy_getinfo)        \
	X(curl_easy_header)         \
	X(curl_easy_init)           \
	X(curl_easy_perform)        \
	X(curl_easy_setopt)         \
	X(curl_easy_strerror)       \
	X(curl_global_init)         \
	X(curl_multi_add_handle)    \
	X(curl_multi_assign)        \
	X(curl_multi_cleanup)       \
	X(curl_multi_info_read)     \
	X(curl_multi_init)          \
	X(curl_multi_remove_handle) \
	X(curl_multi_setopt)        \
	X(curl_multi_socket_action) \
	X(curl_slist_append)        \
	X(curl_slist_free_all)

struct fw_curl {
	FW_CURL_FUNCTIONS(FW_LATE_MEMBER)
};
extern struct fw_curl fw_curl;

/* Loads and initialises it. Raises internal.unsupported if it is not installed. Before
 * other threads are started. */
fw_error *fw_curl_load(void);

#ifndef FW_IO_CURL_NO_NAMES
#define curl_easy_cleanup fw_curl.curl_easy_cleanup
#define curl_easy_getinfo fw_curl.curl_easy_getinfo
#define curl_easy_header fw_curl.curl_easy_header
#define curl_easy_init fw_curl.curl_easy_init
#define curl_easy_perform fw_curl.curl_easy_perform
#define curl_easy_setopt fw_curl.curl_easy_setopt
#define curl_easy_strerror fw_curl.curl_easy_strerror
#define curl_global_init fw_curl.curl_global_init
#define curl_multi_add_handle fw_curl.curl_multi_add_handle
#define curl_multi_assign fw_curl.curl_multi_assign
#define curl_multi_cleanup fw_curl.curl_multi_cleanup
#define curl_multi_info_read fw_curl.curl_multi_info_read
#define curl_multi_init fw_curl.curl_multi_init
#define curl_multi_remove_handle fw_curl.curl_multi_remove_handle
#define curl_multi_setopt fw_curl.curl_multi_setopt
#define curl_multi_socket_action fw_curl.curl_multi_socket_action
#define curl_slist_append fw_curl.curl_slist_append
#define curl_slist_free_all fw_curl.curl_slist_free_all
#endif

#endif
