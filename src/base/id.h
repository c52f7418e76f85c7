/*
 * id.h - random bytes, and the names that are made of them.
 */
#ifndef FW_BASE_ID_H
#define FW_BASE_ID_H

#include <stddef.h>
#include <stdint.h>

/* From the kernel. Any thread. */
void fw_random(unsigned char *bytes, size_t len);
/* Lower case base32, NUL-terminated; `size` of the text with the NUL. */
void fw_random_text(char *text, size_t size);
/* After a fork: what was fetched before is known to both sides of it. */
void fw_random_forget(void);

/* "inc_20260119_" and 26 characters that nobody guesses. */
enum { FW_INCIDENT_ID_SIZE = 40 };
void fw_incident_id(int64_t unix_ms, char ret_id[FW_INCIDENT_ID_SIZE]);

#endif
