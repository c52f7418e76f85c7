/*
 * metrics_process.c - metrics of the process itself, with the names that the Prometheus
 * client libraries use. They are read from /proc on request, and are NaN if that fails.
 */
#include "observe/metrics/metrics.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/real.h"

/* Reads a small file of /proc as text. False: it cannot be read. */
static bool read_text(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	if (len <= 0)
		return false;
	text[len] = '\0';
	return true;
}

/* The number at `index` in a list separated by spaces. */
static double number_at(const char *text, unsigned index)
{
	while (index--) {
		text = strchr(text, ' ');
		if (!text)
			return NAN;
		text++;
	}
	return strtod(text, NULL);
}

static double pages_at(unsigned index)
{
	char text[256];

	if (!read_text("/proc/self/statm", text, sizeof text))
		return NAN;
	return number_at(text, index) * (double)sysconf(_SC_PAGESIZE);
}

static double virtual_bytes(void *ctx)
{
	(void)ctx;
	return pages_at(0);
}

static double resident_bytes(void *ctx)
{
	(void)ctx;
	return pages_at(1);
}

static double cpu_seconds(void *ctx)
{
	(void)ctx;
	return (double)fw_cpu_ns() / 1e9;
}

static double open_fds(void *ctx)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned count = 0;

	(void)ctx;
	if (!directory)
		return NAN;
	/* The stream is used by this function only. */
	/* cppcheck-suppress readdirCalled */
	while (readdir(directory))
		count++;
	(void)closedir(directory);
	/* Without ".", ".." and the descriptor of this directory. */
	return count > 3 ? count - 3 : 0;
}

static double max_fds(void *ctx)
{
	struct rlimit limit;

	(void)ctx;
	if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
		return NAN;
	return limit.rlim_cur == RLIM_INFINITY ? INFINITY : (double)limit.rlim_cur;
}

/* The start time is the 22nd field of stat, in clock ticks after the boot. Count from the
 * end of the process name, which may contain spaces. */
static double start_time(void *ctx)
{
	char text[1024];
	const char *after;

	(void)ctx;
	if (!read_text("/proc/self/stat", text, sizeof text))
		return NAN;
	after = strrchr(text, ')');
	if (!after)
		return NAN;
	return fw_floor((double)(fw_unix_ms() - fw_boot_ms()) / 1000 +
			number_at(after + 2, 19) / (double)sysconf(_SC_CLK_TCK));
}

fw_error *fw_metrics_add_process(struct fw_metrics *metrics)
{
	FW_TRY(fw_metrics_gauge(metrics, "process_resident_memory_bytes",
				"Resident memory size in bytes.", resident_bytes, NULL));
	FW_TRY(fw_metrics_gauge(metrics, "process_virtual_memory_bytes",
				"Virtual memory size in bytes.", virtual_bytes, NULL));
	FW_TRY(fw_metrics_gauge(metrics, "process_open_fds", "Number of open file descriptors.",
				open_fds, NULL));
	FW_TRY(fw_metrics_gauge(metrics, "process_max_fds",
				"Maximum number of open file descriptors.", max_fds, NULL));
	FW_TRY(fw_metrics_gauge(metrics, "process_start_time_seconds",
				"Start time of the process since the epoch, in seconds.",
				start_time, NULL));
	return fw_metrics_counter(metrics, "process_cpu_seconds_total",
				  "Total user and system CPU time, in seconds.", cpu_seconds,
				  NULL);
}
