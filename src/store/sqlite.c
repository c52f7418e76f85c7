/*
 * sqlite.c - see sqlite.h. The soname is the same for every SQLite 3.
 */
#define FW_STORE_SQLITE_NO_NAMES
#include "store/sqlite.h"

#include <faultwire/raise.h>

FW_LATE_DEFINE(fw_sqlite, "libsqlite3.so.0", FW_SQLITE_FUNCTIONS);

fw_error *fw_sqlite_load(void)
{
	const char *why = NULL;
	fw_error *err;

	if (fw_late_load(&fw_sqlite_library, &why))
		return NULL;
	err = fw_raise_internal_unsupported("a store without SQLite");
	fw_error_set_hint(err, "Install the package libsqlite3-0.");
	fw_error_add_string(err, "loader", why ? why : "");
	return err;
}
