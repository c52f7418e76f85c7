/*
 * scan_block.h - the members of one block of content, for the scanner.
 */
#ifndef FW_RPC_SCAN_BLOCK_H
#define FW_RPC_SCAN_BLOCK_H

#include "rpc/scan.h"

/* The members of a block that its type may require. */
enum {
	FW_BLOCK_TYPE,
	FW_BLOCK_TEXT,
	FW_BLOCK_DATA,
	FW_BLOCK_RESOURCE,
	FW_BLOCK_URI,
	FW_BLOCK_PARTS
};

/* Keeps a member if it is one of them; the first of a name counts. */
void fw_slice__note(struct fw_slice *parts, struct fw_slice key, struct fw_slice value);
enum fw_scan_blocks fw_slice__judge(const struct fw_slice *parts);

#endif
