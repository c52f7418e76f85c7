/*
 * snapshot_format.h - what the writer and the reader of a snapshot agree on.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_FORMAT_H
#define FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_FORMAT_H

#define FW_SEMANTIC_MAGIC "FWINDEX"

#include <stdint.h>

#include "tools/code/semantic/snapshot.h"

enum { FW_SEMANTIC_VERSION = 2, FW_SEMANTIC_ALIGN = 64, FW_SEMANTIC_BUCKET_TERMS = 8 };

/*
 * A term is known by the upper bits of its hash, its key. The upper bits of the key name a
 * bucket of four to eight terms; a bucket holds for each of its terms the other bits, the number of
 * its documents and their list (bits.h), in ascending order of the keys.
 */
static inline uint32_t fw_semantic_key(uint32_t hash)
{
	return hash >> (32 - FW_SEMANTIC_KEY_BITS);
}

#endif
