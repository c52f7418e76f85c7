/*
 * version.c - names of protocol versions.
 */
#include "rpc/version.h"

#include <string.h>

const char *const fw_version_names[FW_V_COUNT] = {
	[FW_V_2025_03_26] = "2025-03-26",
	[FW_V_2025_06_18] = "2025-06-18",
	[FW_V_2025_11_25] = "2025-11-25",
	[FW_V_2026_07_28] = "2026-07-28",
};

const char fw_version_list[] = "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"]";
const char fw_version_modern_list[] = "[\"2026-07-28\"]";
const char fw_version_legacy_list[] = "[\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"]";

enum fw_version fw_version_find(struct fw_text name)
{
	/* All names are dates. */
	if (!name.p || name.n != sizeof("2025-03-26") - 1)
		return FW_V_NONE;
	for (int i = 0; i < FW_V_COUNT; i++)
		if (memcmp(name.p, fw_version_names[i], sizeof("2025-03-26") - 1) == 0)
			return (enum fw_version)i;
	return FW_V_NONE;
}

enum fw_version fw_version_named(const char *header)
{
	return fw_version_find((struct fw_text){ header, strlen(header) });
}
