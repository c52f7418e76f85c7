/*
 * curl.c - see curl.h. The number is that of every libcurl since 2006.
 */
#define FW_IO_CURL_NO_NAMES
#include "io/curl.h"

#include <faultwire/raise.h>

FW_LATE_DEFINE(fw_curl, "libcurl.so.4", FW_CURL_FUNCTIONS);

fw_error *fw_curl_load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_curl_library, &why)) {
		if (fw_curl.curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK)
			return NULL;
		return fw_raise_internal_unexpected("curl_global_init");
	}
	err = fw_raise_internal_unsupported("HTTP requests without libcurl");
	fw_error_set_hint(err, "Install the package libcurl4.");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}
