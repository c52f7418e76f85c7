/*
 * id.h - random bytes, and identifiers made of them.
 */
#ifndef FW_BASE_ID_H
#define FW_BASE_ID_H

#include <stddef.h>
#include <stdint.h>

/* Random bytes from the kernel. Any thread. */
void fw_random(unsigned char *bytes, size_t len);
/* Random lower-case base32, NUL-terminated; `size` includes the NUL. */
void fw_random_text(char *text, size_t size);
/* The same in lower-case hexadecimal. */
void fw_random_hex(char *text, size_t size);
/* Call after a fork: drops the bytes that both processes know. */
void fw_random_forget(void);

/* "inc_20260119_" and 26 random characters. */
enum { FW_INCIDENT_ID_SIZE = 40 };
void fw_incident_id(int64_t unix_ms, char ret_id[FW_INCIDENT_ID_SIZE]);

#endif
