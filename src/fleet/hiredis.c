/*
 * hiredis.c - see hiredis.h. The name of the library is that of the headers: its structures
 * are part of the ABI and differ between versions.
 */
#define FW_FLEET_HIREDIS_NO_NAMES
#include "fleet/hiredis.h"

#include <faultwire/raise.h>

#define NUMBER_TEXT_(number) #number
#define NUMBER_TEXT(number) NUMBER_TEXT_(number)
#define SONAME "libhiredis.so." NUMBER_TEXT(HIREDIS_SONAME)

FW_LATE_DEFINE(fw_hiredis, SONAME, FW_HIREDIS_FUNCTIONS);

fw_error *fw_hiredis_load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_hiredis_library, &why))
		return NULL;
	err = fw_raise_internal_unsupported("shared limits without hiredis");
	fw_error_set_hint(err, "Install the package that has " SONAME ".");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}
