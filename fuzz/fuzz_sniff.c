/*
 * fuzz_sniff.c - any bytes at all: sniffing answers, the answer can be read,
 * and asking again gives the same.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	long live = fw_error_live();
	fw_contract found = fw_sniff(text, size);
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(text, size, FW_AUTO, NULL, &read);

	MUST((int)found >= 0 && found <= FW_PLAIN_TEXT);
	MUST(fw_sniff(text, size) == found);
	MUST(!err != !read);
	/* what is no contract is what a tool threw, and that is refused only
	 * where it is too deep or has a key twice */
	if (found == FW_ANY_JSON)
		MUST(read || strcmp(fw_error_name(err), "input.too_deep") == 0 ||
		     strcmp(fw_error_name(err), "contract.malformed") == 0);
	if (read)
		for (int to = 0; to < FW_CONTRACT_COUNT; to++)
			fuzz_round_trip(read, (fw_contract)to, NULL);
	fw_error_free(err);
	fw_error_free(read);
	MUST(fw_error_live() == live);
	return 0;
}
