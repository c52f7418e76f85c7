/*
 * text.h - text written into fixed buffers, for reports.
 */
#ifndef FW_SCHEMA_TEXT_H
#define FW_SCHEMA_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text in a fixed buffer. Text that does not fit is cut at a character boundary.
 * Ends in NUL after the first put. */
struct fw_schema__text {
	char *p;
	size_t n, cap;
	bool cut;
};
void fw_schema__text_put(struct fw_schema__text *t, const char *s);
/** The same for bytes from a peer: control bytes and invalid UTF-8 become '?'. */
void fw_schema__text_safe(struct fw_schema__text *t, const char *s, size_t len);
void fw_schema__text_number(struct fw_schema__text *t, uint64_t v);

#endif
