/*
 * fence.h - limits where a command may write, beyond the sandbox of its worker.
 *
 * A worker may write more than the commands that it runs: the journal, for example. The
 * fence is a second layer of Landlock rules that only the command gets.
 */
#ifndef FW_TOOLS_COMMON_FENCE_H
#define FW_TOOLS_COMMON_FENCE_H

/*
 * Rules for processes that may write below the directory `fd`, and to devices, but nowhere
 * else, and that may not signal processes outside of the fence (Linux 6.12 and later).
 * Returns a descriptor for fw_subprocess_options.ruleset, or -1 if the kernel has no
 * Landlock.
 */
int fw_fence_open(int fd);

#endif
