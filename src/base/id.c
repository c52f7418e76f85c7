/*
 * id.c - see id.h. Random bytes are read from the kernel in large blocks, so that an
 * error, which needs sixteen, does not cost a system call.
 */
#include "base/id.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <sys/types.h>
#include <time.h>

#include "base/clock.h"

static const char base32[] = "abcdefghijklmnopqrstuvwxyz234567";

/* Loop threads of several servers may share it. */
static _Thread_local struct pool {
	unsigned char bytes[1024];
	size_t left;
	int64_t day;     /* that `prefix` is for */
	char prefix[16]; /* of an incident id: its date is formatted once per day */
} pool = { .day = -1 };

/* Called if the pool is empty. */
static void fill(struct pool *to)
{
	ssize_t got = getrandom(to->bytes, sizeof to->bytes, 0);

	if (got < 0 && errno != EINTR) {
		/* Does not happen on supported kernels. An id that is easier to guess is
		 * better than no answer. */
		int64_t now = fw_steady_ns();

		memcpy(to->bytes, &now, sizeof now);
		got = sizeof now;
	}
	to->left = got < 0 ? 0 : (size_t)got;
}

static void take(struct pool *from, unsigned char *bytes, size_t len)
{
	while (len > from->left) {
		memcpy(bytes, from->bytes, from->left);
		bytes += from->left;
		len -= from->left;
		from->left = 0;
		fill(from);
	}
	from->left -= len;
	memcpy(bytes, from->bytes + from->left, len);
}

void fw_random(unsigned char *bytes, size_t len)
{
	take(&pool, bytes, len);
}

/* Bytes that were read before a fork are known to both processes. */
void fw_random_forget(void)
{
	memset(&pool, 0, sizeof pool);
	pool.day = -1;
}

/* `letters` has a power of two of them, `mask` + 1. */
static void put_random(char *text, size_t size, const char *letters, unsigned mask)
{
	unsigned char bytes[64];
	size_t len = size - 1;

	if (len > sizeof bytes)
		len = sizeof bytes;
	fw_random(bytes, len);
	for (size_t i = 0; i < len; i++)
		text[i] = letters[bytes[i] & mask];
	text[len] = '\0';
}

typedef unsigned char lane __attribute__((vector_size(16)));

/* Sixteen characters of base32 for sixteen random bytes, without a table: 'a' to 'z',
 * then '2' to '7'. */
static void put_lane(char *text, const unsigned char *bytes)
{
	lane value;
	lane is_digit;

	memcpy(&value, bytes, sizeof value);
	value &= 31;
	is_digit = (lane)(value > 25);
	value += 'a';
	value -= is_digit & ('a' + 26 - '2');
	memcpy(text, &value, sizeof value);
}

void fw_random_text(char *text, size_t size)
{
	put_random(text, size, base32, 31);
}

void fw_random_hex(char *text, size_t size)
{
	put_random(text, size, "0123456789abcdef", 15);
}

void fw_incident_id(int64_t unix_ms, char ret_id[FW_INCIDENT_ID_SIZE])
{
	enum { PREFIX = 13, RANDOM = 26 };
	unsigned char bytes[RANDOM];
	struct pool *own = &pool;
	int64_t day = unix_ms / 86400000;

	if (day != own->day) {
		time_t seconds = (time_t)(unix_ms / 1000);
		struct tm parts = { 0 };

		(void)gmtime_r(&seconds, &parts);
		(void)strftime(own->prefix, sizeof own->prefix, "inc_%Y%m%d_", &parts);
		own->day = day;
	}
	take(own, bytes, sizeof bytes);
	memcpy(ret_id, own->prefix, PREFIX);
	/* The lanes overlap. */
	put_lane(ret_id + PREFIX, bytes);
	put_lane(ret_id + PREFIX + RANDOM - sizeof(lane), bytes + RANDOM - sizeof(lane));
	ret_id[PREFIX + RANDOM] = '\0';
}
