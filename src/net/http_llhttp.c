/*
 * http_llhttp.c - see http_llhttp.h. The number in the soname is that of the
 * headers: llhttp_t is part of the ABI and changes between minor versions.
 */
#define FW_NET_HTTP_LLHTTP_NO_NAMES
#include "net/http_llhttp.h"

#include <faultwire/raise.h>

#define VERSION_TEXT_(number) #number
#define VERSION_TEXT(number) VERSION_TEXT_(number)
#define SONAME                                                               \
	"libllhttp.so." VERSION_TEXT(LLHTTP_VERSION_MAJOR) "." VERSION_TEXT( \
		LLHTTP_VERSION_MINOR)

FW_LATE_DEFINE(fw_llhttp, SONAME, FW_LLHTTP_FUNCTIONS);

fw_error *fw_llhttp_load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_llhttp_library, &why))
		return NULL;
	err = fw_raise_internal_unsupported("HTTP without llhttp");
	fw_error_set_hint(err, "Install the package that has " SONAME ".");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}
