/*
 * key.c - see key.h.
 */
#include "tools/workspace/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <faultwire/raise.h>
#include <faultwire/raw.h>

bool fw_ws_key_path(const char *path, char *ret_path, size_t size)
{
	const char *config = getenv("XDG_CONFIG_HOME");
	const char *home = getenv("HOME");
	int len;

	if (path)
		len = snprintf(ret_path, size, "%s", path);
	else if (config && config[0] == '/')
		len = snprintf(ret_path, size, "%s/faultwire/plan.key", config);
	else if (home && home[0] == '/')
		len = snprintf(ret_path, size, "%s/.config/faultwire/plan.key", home);
	else
		return false;
	return len > 0 && (size_t)len < size;
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool read_key(const char *text, size_t len, struct fw_ws_key *key)
{
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r'))
		len--;
	if (!fw_sha256_is_text(text, len))
		return false;
	for (size_t i = 0; i < FW_WS_KEY_BYTES; i++)
		key->bytes[i] =
			(unsigned char)(digit(text[2 * i]) * 16 + digit(text[2 * i + 1]));
	key->is_set = true;
	return true;
}

/* Creates the parent directories, accessible to the owner only. */
static void make_above(const char *path)
{
	char part[4096];

	(void)snprintf(part, sizeof part, "%s", path);
	for (char *at = part + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		(void)mkdir(part, 0700);
		*at = '/';
	}
}

/* Written to another name and linked into place: if two processes create a key at
 * once, one of them wins and both use its key. */
static fw_error *make_key(const char *path)
{
	unsigned char bytes[FW_WS_KEY_BYTES];
	char text[2 * FW_WS_KEY_BYTES + 2];
	char aside[4200];
	int error = 0;
	int fd;

	/* Not fw_random(), which prefers a weak number to none. */
	if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
		return fw_raise_internal_unexpected("no random numbers");
	fw_hex(bytes, sizeof bytes, text);
	text[2 * FW_WS_KEY_BYTES] = '\n';
	make_above(path);
	(void)snprintf(aside, sizeof aside, "%s.%ld", path, (long)getpid());
	fd = open(aside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errno, path);
	if (write(fd, text, 2 * FW_WS_KEY_BYTES + 1) != 2 * FW_WS_KEY_BYTES + 1 ||
	    fsync(fd) != 0)
		error = errno ? errno : EIO;
	(void)close(fd);
	explicit_bzero(text, sizeof text);
	explicit_bzero(bytes, sizeof bytes);
	if (!error && link(aside, path) != 0 && errno != EEXIST)
		error = errno;
	(void)unlink(aside);
	return error ? fw_error_from_errno(FW_HERE, error, path) : NULL;
}

static fw_error *load(const char *path, struct fw_ws_key *ret_key)
{
	struct fw_ws_key key = { .is_set = false };
	char text[256];
	struct stat st;
	ssize_t len;
	int error;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

	if (fd < 0)
		return fw_error_from_errno(FW_HERE, errno, path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return fw_raise_input_invalid_value("the plan key", "an ordinary file");
	}
	if (st.st_mode & 077) {
		(void)close(fd);
		return fw_raise_input_invalid_value("the plan key",
						    "readable by its owner alone (chmod 600)");
	}
	len = read(fd, text, sizeof text);
	error = errno;
	(void)close(fd);
	if (len < 0)
		return fw_error_from_errno(FW_HERE, error, path);
	if (!read_key(text, (size_t)len, &key)) {
		explicit_bzero(text, sizeof text);
		return fw_raise_input_invalid_value("the plan key",
						    "64 lower-case hexadecimal digits");
	}
	explicit_bzero(text, sizeof text);
	*ret_key = key;
	return NULL;
}

fw_error *fw_ws_key_load(const char *path, bool make, struct fw_ws_key *ret_key)
{
	char where[4096];
	fw_error *err;

	if (!fw_ws_key_path(path, where, sizeof where))
		return fw_raise_input_invalid_value("--plan-key",
						    "given where HOME is not set");
	err = load(where, ret_key);
	if (!err || !make || fw_error_code(err) != FW_FILE_NOT_FOUND)
		return err;
	fw_error_free(err);
	FW_TRY(make_key(where));
	return load(where, ret_key);
}

bool fw_ws_key_sign(const struct fw_ws_key *key, const char *purpose, const char *text,
		    size_t len, char ret_signature[FW_SHA256_TEXT])
{
	unsigned char own[FW_SHA256_BYTES];
	unsigned char mac[FW_SHA256_BYTES];
	bool is_made =
		fw_hmac_sha256(key->bytes, FW_WS_KEY_BYTES, purpose, strlen(purpose), own) &&
		fw_hmac_sha256(own, sizeof own, text, len, mac);

	if (is_made)
		fw_hex(mac, sizeof mac, ret_signature);
	explicit_bzero(own, sizeof own);
	return is_made;
}

bool fw_ws_key_is_signature(const char *text, size_t len, const char signature[FW_SHA256_TEXT])
{
	return fw_sha256_is_text(text, len) && fw_bytes_equal(text, signature, len);
}
