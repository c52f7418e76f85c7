/*
 * log_sink.c - writes to a descriptor whose reader may be slow or gone.
 *
 * Standard error is usually shared with the parent process, as a pipe or a terminal, and
 * making it non-blocking would affect all processes that share it. So a pipe or a
 * terminal is opened again through /proc, which gives it separate file status flags. A
 * socket is written with MSG_DONTWAIT, and a file never blocks. If a pipe cannot be
 * opened again, each write is at most PIPE_BUF bytes, which a pipe takes in one piece.
 */
#include "observe/log/log_sink.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <faultwire/raw.h>

enum {
	POLL_MS = 50,
	ENDING_MS = 500, /* time for a slow reader when the log ends */
	MOST_BYTES = 64 * 1024,
};

static fw_error *open_journal(struct fw_log_sink *sink, const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int room = 8 * 1024 * 1024;
	int error;

	(void)snprintf(address.sun_path, sizeof address.sun_path, "%s",
		       path ? path : "/run/systemd/journal/socket");
	sink->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (sink->fd < 0 ||
	    connect(sink->fd, (const struct sockaddr *)&address, sizeof address) != 0) {
		error = errno;
		if (sink->fd >= 0)
			(void)close(sink->fd);
		return fw_error_from_errno(FW_HERE, error, "journald");
	}
	(void)setsockopt(sink->fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
	sink->is_own = true;
	sink->is_socket = true;
	sink->is_journal = true;
	sink->most = MOST_BYTES;
	return NULL;
}

fw_error *fw_log_sink_open(struct fw_log_sink *sink, const struct fw_log_options *options,
			   enum fw_log_form form, const atomic_bool *is_ending)
{
	char path[64];
	struct stat kind;
	int own = -1;

	*sink = (struct fw_log_sink){ .fd = options->fd, .is_ending = is_ending };
	if (form == FW_LOG_JOURNALD)
		return open_journal(sink, options->journal);
	sink->most = MOST_BYTES;
	if (fstat(options->fd, &kind) != 0)
		return NULL; /* the descriptor is closed, so each write will fail */
	sink->is_socket = S_ISSOCK(kind.st_mode);
	if (S_ISFIFO(kind.st_mode) || S_ISCHR(kind.st_mode)) {
		(void)snprintf(path, sizeof path, "/proc/self/fd/%d", options->fd);
		own = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
		/* Writes up to this size are not interleaved with those of other processes. */
		sink->most = PIPE_BUF;
	}
	/* Append, so that a file that logrotate's copytruncate has truncated continues at
	 * its start and does not get a hole. All writes of this process need it. */
	if (S_ISREG(kind.st_mode))
		(void)fcntl(options->fd, F_SETFL, fcntl(options->fd, F_GETFL) | O_APPEND);
	if (own >= 0) {
		sink->fd = own;
		sink->is_own = true;
	}
	return NULL;
}

void fw_log_sink_close(struct fw_log_sink *sink)
{
	if (sink->is_own)
		(void)close(sink->fd);
	sink->is_own = false;
	sink->fd = -1;
}

static ssize_t write_some(const struct fw_log_sink *sink, const char *text, size_t len)
{
	if (sink->is_socket)
		return send(sink->fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	return write(sink->fd, text, len < sink->most ? len : sink->most);
}

/* Waits for the reader. While the log is stopping, the time is limited. */
static bool wait_for_reader(struct fw_log_sink *sink)
{
	struct pollfd fd = { .fd = sink->fd, .events = POLLOUT };

	if (sink->late_ms >= ENDING_MS)
		return false;
	if (poll(&fd, 1, POLL_MS) > 0)
		return !(fd.revents & (POLLERR | POLLNVAL));
	if (atomic_load(sink->is_ending))
		sink->late_ms += POLL_MS;
	return sink->late_ms < ENDING_MS;
}

/* If only the beginning of a line was written, for example because the disk was full,
 * ends it, so that the next line does not continue it. */
static bool end_torn_line(struct fw_log_sink *sink)
{
	if (sink->is_torn && write_some(sink, "\n", 1) != 1)
		return false;
	sink->is_torn = false;
	return true;
}

static bool write_all(struct fw_log_sink *sink, const char *text, size_t len)
{
	if (!end_torn_line(sink))
		return false;
	while (len) {
		ssize_t n;

		/* Poll a descriptor that may block before writing. */
		if (!sink->is_own && !sink->is_socket && !wait_for_reader(sink))
			return false;
		n = write_some(sink, text, len);
		if (n > 0) {
			text += n;
			len -= (size_t)n;
			sink->is_torn = text[-1] != '\n';
		} else if (n < 0 && errno == EAGAIN) {
			if (!wait_for_reader(sink))
				return false;
		} else if (n == 0 || errno != EINTR) {
			return false;
		}
	}
	return true;
}

bool fw_log_sink_write(struct fw_log_sink *sink, const char *text, size_t len)
{
	bool is_written = write_all(sink, text, len);

	/* A datagram is not part of a line. */
	if (is_written || sink->is_journal)
		sink->is_torn = false;
	return is_written;
}
