/*
 * scan.h - finds a text in a larger one, many bytes at a time.
 *
 * It looks for two bytes of the text that are rare in source code, at their distance from
 * each other, with vector instructions if the CPU has them.
 */
#ifndef FW_TOOLS_CODE_SCAN_H
#define FW_TOOLS_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* The text to find. */
struct fw_scan {
	const char *text;  /* not copied */
	size_t len;        /* not 0 */
	bool ignores_case; /* case of ASCII letters; the text must be in lower case */
	size_t first;      /* positions of the two rare bytes */
	size_t second;
};

void fw_scan_init(struct fw_scan *scan, const char *text, size_t len, bool ignores_case);

/* Finds the first occurrence. NULL: none. */
const char *fw_scan_find(const struct fw_scan *scan, const char *text, size_t len);

/* Counts line feeds. */
size_t fw_scan_lines(const char *text, size_t len);

#endif
