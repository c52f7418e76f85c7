/*
 * tcp.c - see tcp.h.
 */
#include "net/tcp.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>

bool fw_tcp_received(int fd, uint64_t *ret_bytes)
{
	struct tcp_info info;
	socklen_t len = sizeof(info);

	memset(&info, 0, sizeof(info));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
	    len < offsetof(struct tcp_info, tcpi_bytes_received) +
			    sizeof(info.tcpi_bytes_received))
		return false;
	*ret_bytes = info.tcpi_bytes_received;
	return true;
}
