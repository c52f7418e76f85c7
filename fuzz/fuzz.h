/*
 * fuzz.h - what the fuzz targets share.
 *
 * A target asserts properties: what is taken can be said again and means the
 * same; what is refused leaves nothing behind. MUST() stops the process, in a
 * release build too.
 */
#ifndef FW_FUZZ_H
#define FW_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <faultwire/faultwire.h>

#define MUST(holds)                                                                      \
	do {                                                                             \
		if (!(holds)) {                                                          \
			(void)fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, \
				      #holds);                                           \
			abort();                                                         \
		}                                                                        \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The error in `contract`, in memory that is yours for fw_free(). */
static inline char *fuzz_text(const fw_error *err, fw_contract contract,
			      const fw_encode_options *options, size_t *ret_len)
{
	char *text = NULL;
	fw_error *failed = fw_error_to_text(err, contract, options, &text, ret_len);

	MUST(!failed);
	MUST(text && strlen(text) == *ret_len);
	return text;
}

/* Writes, reads and writes again: the same bytes, and found out for what they are. */
static inline void fuzz_round_trip(const fw_error *err, fw_contract contract,
				   const fw_encode_options *options)
{
	size_t len, again_len;
	char *text = fuzz_text(err, contract, options, &len);
	char *again;
	fw_error *read = NULL;
	fw_error *refused;
	bool same;

	MUST(fw_sniff(text, len) == contract);
	refused = fw_error_decode(text, len, contract, NULL, &read);
	if (refused)
		(void)fprintf(stderr, "%s\n%s\n", text, fw_error_message(refused));
	MUST(!refused);
	again = fuzz_text(read, contract, options, &again_len);
	same = again_len == len && memcmp(again, text, len) == 0;
	if (!same)
		(void)fprintf(stderr, "first  %s\nsecond %s\n", text, again);
	MUST(same);
	fw_free(text);
	fw_free(again);
	fw_error_free(read);
}

#endif
