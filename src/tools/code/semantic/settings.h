/*
 * settings.h - how a server uses the semantic indexes of its repositories.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SETTINGS_H
#define FW_TOOLS_CODE_SEMANTIC_SETTINGS_H

#include <stdbool.h>

#include "tools/code/semantic/embed.h"

struct fw_semantic_settings {
	bool is_kept;      /* the server builds them in the background */
	bool has_embedder; /* a service; else the analysis of the repository */
	struct fw_semantic_embedder embedder;
};

#endif
