/*
 * limits.h - every size that a peer can influence, by name.
 *
 * A limit that is passed has a canonical error of its own (input.too_large,
 * input.too_deep); where an error itself would grow too large, the excess is
 * dropped, because failing cannot fail.
 */
#ifndef FW_BASE_LIMITS_H
#define FW_BASE_LIMITS_H

enum {
	/* One error as text, in any contract. */
	FW_LIMIT_ENVELOPE_BYTES = 1024 * 1024,
	/* Nesting of JSON values that are kept (context, cause, empty result). */
	FW_LIMIT_JSON_DEPTH = 64,
	/* Links in a chain of causes; later wraps change the message alone. */
	FW_LIMIT_CAUSES = 16,
	/* Context fields that a raiser may add. What is read from a peer is
	 * bounded by the size of its envelope. */
	FW_LIMIT_FIELDS = 256,
	/* A message that is raised or wrapped; longer ones are cut. */
	FW_LIMIT_MESSAGE_BYTES = 16 * 1024,
};

#endif
