/*
 * scan_block.c - what the blocks of a tool's content must have, by their type. Types that
 * are not known pass, because later versions of the protocol add some.
 */
#include "rpc/scan_block.h"

#define NAME(text)                       \
	{                                \
		(text), sizeof(text) - 1 \
	}

void fw_slice__note(struct fw_slice *parts, struct fw_slice key, struct fw_slice value)
{
	static const struct {
		const char *text;
		size_t len;
	} names[FW_BLOCK_PARTS] = { NAME("type"), NAME("text"), NAME("data"), NAME("resource"),
				    NAME("uri") };

	for (int i = 0; i < FW_BLOCK_PARTS; i++)
		if (!parts[i].p && fw_slice__equals(key, names[i].text, names[i].len)) {
			parts[i] = value;
			return;
		}
}

enum fw_scan_blocks fw_slice__judge(const struct fw_slice *parts)
{
	static const struct {
		const char *type;
		int part;
		char first; /* of the value */
		enum fw_scan_blocks fault;
	} rules[] = { { "text", FW_BLOCK_TEXT, '"', FW_BLOCKS_NO_TEXT },
		      { "image", FW_BLOCK_DATA, '"', FW_BLOCKS_NO_DATA },
		      { "audio", FW_BLOCK_DATA, '"', FW_BLOCKS_NO_DATA },
		      { "resource", FW_BLOCK_RESOURCE, '{', FW_BLOCKS_NO_RESOURCE },
		      { "resource_link", FW_BLOCK_URI, '"', FW_BLOCKS_NO_URI } };

	if (!fw_slice_is_string(parts[FW_BLOCK_TYPE]))
		return FW_BLOCKS_NO_TYPE;
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
		const char *value = parts[rules[i].part].p;

		if (fw_slice_equals(parts[FW_BLOCK_TYPE], rules[i].type))
			return value && *value == rules[i].first ? FW_BLOCKS_OK
								 : rules[i].fault;
	}
	return FW_BLOCKS_OK;
}
