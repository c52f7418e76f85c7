/*
 * snapshot_format.h - what the writer and the reader of a snapshot agree on.
 */
#ifndef FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_FORMAT_H
#define FW_TOOLS_CODE_SEMANTIC_SNAPSHOT_FORMAT_H

#define FW_SEMANTIC_MAGIC "FWINDEX"

enum { FW_SEMANTIC_VERSION = 1, FW_SEMANTIC_ALIGN = 64 };

#endif
