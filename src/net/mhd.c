/*
 * mhd.c - see mhd.h. The number is that of Debian 12 and 13: what the headers
 * of another would describe is not what this was compiled for.
 */
#define FW_NET_MHD_NO_NAMES
#include "net/mhd.h"

#include <faultwire/raise.h>

FW_LATE_DEFINE(fw_mhd, "libmicrohttpd.so.12", FW_MHD_FUNCTIONS);

fw_error *fw_mhd_load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_mhd_library, &why))
		return NULL;
	err = fw_raise_internal_unsupported("HTTP without libmicrohttpd");
	fw_error_set_hint(err, "Install the package libmicrohttpd12.");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}
