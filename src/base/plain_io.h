/*
 * plain_io.h - read() and write() for the few places where each message passes.
 *
 * In a process with threads, read() and write() of the C library are cancellation points: that
 * takes two locked instructions and some fifty others for each call. We cancel no thread.
 */
#ifndef FW_BASE_PLAIN_IO_H
#define FW_BASE_PLAIN_IO_H

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

static inline ssize_t fw_plain_read(int fd, void *bytes, size_t size)
{
	return syscall(SYS_read, fd, bytes, size);
}

static inline ssize_t fw_plain_write(int fd, const void *bytes, size_t size)
{
	return syscall(SYS_write, fd, bytes, size);
}

#endif
