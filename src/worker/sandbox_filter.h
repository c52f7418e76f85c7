/*
 * sandbox_filter.h - the system call filters (seccomp), as BPF programs.
 *
 * Used only at build time and by a test. The library uses the generated table of
 * programs.
 */
#ifndef FW_WORKER_SANDBOX_FILTER_H
#define FW_WORKER_SANDBOX_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The permissions that the filter of a process depends on. */
struct fw_sandbox_filter_kind {
	bool is_server;
	bool may_connect;
	bool may_execute;
	bool may_watch; /* only for a worker that may neither connect nor execute */
};

enum { FW_SANDBOX_FILTERS = 9, FW_SANDBOX_FILTER_WATCH = 8 };

/* The index of a kind in the table. */
static inline unsigned fw_sandbox_filter_index(const struct fw_sandbox_filter_kind *kind)
{
	if (kind->may_watch && !kind->is_server && !kind->may_connect && !kind->may_execute)
		return FW_SANDBOX_FILTER_WATCH;
	return (kind->is_server ? 4u : 0u) | (kind->may_connect ? 2u : 0u) |
	       (kind->may_execute ? 1u : 0u);
}

/* The kind at an index of the table. */
static inline struct fw_sandbox_filter_kind fw_sandbox_filter_kind_at(unsigned index)
{
	return (struct fw_sandbox_filter_kind){ .is_server = index & 4,
						.may_connect = index & 2,
						.may_execute = index & 1,
						.may_watch = index == FW_SANDBOX_FILTER_WATCH };
}

/* Compiles a filter with libseccomp. Returns the number of instructions, or a negative
 * errno. */
int fw_sandbox_filter_compile(const struct fw_sandbox_filter_kind *kind,
			      struct sock_filter *code, size_t room);
/* The architecture whose system calls the filters check. */
uint32_t fw_sandbox_filter_arch(void);

#endif
