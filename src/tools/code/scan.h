/*
 * scan.h - finding a text in a larger one, many bytes at a time.
 *
 * Two bytes of the text that are rare in source code are looked for at once, at their
 * distance from each other, with vector instructions where the CPU has them.
 */
#ifndef FW_TOOLS_CODE_SCAN_H
#define FW_TOOLS_CODE_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* What is looked for. */
struct fw_scan {
	const char *text;  /* kept, not copied */
	size_t len;        /* not 0 */
	bool ignores_case; /* of ASCII letters; then the text is in lower case */
	size_t first;      /* where the two rare bytes are */
	size_t second;
};

void fw_scan_init(struct fw_scan *scan, const char *text, size_t len, bool ignores_case);

/* The first occurrence; NULL: none. */
const char *fw_scan_find(const struct fw_scan *scan, const char *text, size_t len);

/* How many line feeds there are. */
size_t fw_scan_lines(const char *text, size_t len);

#endif
