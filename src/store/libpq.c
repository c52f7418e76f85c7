/*
 * libpq.c - see libpq.h.
 */
#define FW_STORE_LIBPQ_NO_NAMES
#include "store/libpq.h"

#include <faultwire/raise.h>

FW_LATE_DEFINE(fw_libpq, "libpq.so.5", FW_LIBPQ_FUNCTIONS);

fw_error *fw_libpq_load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_libpq_library, &why))
		return NULL;
	err = fw_raise_internal_unsupported("a PostgreSQL store without libpq");
	fw_error_set_hint(err, "Install the package libpq5, version 14 or later.");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}
