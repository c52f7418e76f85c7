/*
 * shelf.h - the snapshots that this process has open: one per repository, kept between calls
 * and exchanged when a build has made a new one.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SHELF_H
#define FW_TOOLS_CODE_SEMANTIC_SHELF_H

#include "tools/code/semantic/snapshot.h"

/* The snapshot in the index directory of repository number `index`. With FW_SEMANTIC_OK it can be
 * used until fw_semantic_shelf_return(), which must be called; one user at a time. */
enum fw_semantic_fault fw_semantic_shelf_take(size_t index, const char *directory,
					      const struct fw_semantic_snapshot **ret_snapshot,
					      bool *ret_is_building);
void fw_semantic_shelf_return(void);

#endif
