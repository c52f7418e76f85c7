/*
 * version.h - the supported versions of MCP, and the two eras they belong to: legacy
 * versions begin with a handshake and live in a session, modern ones state their version
 * in every request.
 */
#ifndef FW_RPC_VERSION_H
#define FW_RPC_VERSION_H

#include <stdbool.h>

#include "base/text.h"

enum fw_version {
	FW_V_2025_03_26,
	FW_V_2025_06_18,
	FW_V_2025_11_25,
	FW_V_2026_07_28, /* from here on: the modern era */
	FW_V_COUNT,
	FW_V_NONE = FW_V_COUNT
};

extern const char *const fw_version_names[FW_V_COUNT];

/* As JSON arrays of names, the newest first. The member `supported` of the protocol
 * has only the versions of the client's era, because a modern client would repeat a
 * legacy one in `_meta`, which is refused. Everything else lists all of them. */
extern const char fw_version_list[];
extern const char fw_version_modern_list[];
extern const char fw_version_legacy_list[];

/* FW_V_NONE: there is no such version. */
enum fw_version fw_version_find(struct fw_text name);
/* The same for the value of a header, which is a C string. */
enum fw_version fw_version_named(const char *header);

static inline bool fw_version_is_modern(enum fw_version version)
{
	return version >= FW_V_2026_07_28 && version < FW_V_COUNT;
}

#endif
