/*
 * fuzz_translate.c - whatever it is, into every contract, and from there into
 * every other: nothing fails on the way.
 */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	long live = fw_error_live();
	fw_error *read = NULL;
	fw_error *err = fw_error_decode(text, size, FW_AUTO, NULL, &read);

	for (int via = 0; read && via < FW_CONTRACT_COUNT; via++) {
		fw_error *second = NULL;
		size_t len;
		char *middle = fuzz_text(read, (fw_contract)via, NULL, &len);

		err = fw_error_decode(middle, len, FW_AUTO, NULL, &second);
		MUST(!err);
		for (int to = 0; to < FW_CONTRACT_COUNT; to++)
			fuzz_round_trip(second, (fw_contract)to, NULL);
		/* a code that a contract can say survives the way there and back */
		if (via == FW_CANONICAL || via == FW_OWLCLAW || via == FW_OWLCLAW_API)
			MUST(fw_error_code(second) == fw_error_code(read));
		fw_error_free(second);
		fw_free(middle);
	}
	fw_error_free(err);
	fw_error_free(read);
	MUST(fw_error_live() == live);
	return 0;
}
