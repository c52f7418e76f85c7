/*
 * audit_files.c - the names of the files of a log: audit-log.jsonl is the current one,
 * audit-log.000001.jsonl the oldest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <faultwire/raw.h>

#include "observe/audit/audit_file.h"

#define SUFFIX ".jsonl"

enum { DIGITS = 6, MOST = 99999999 };

/* The path without ".jsonl". */
static size_t stem_len(const char *path)
{
	size_t len = strlen(path);
	size_t suffix = sizeof SUFFIX - 1;

	return len > suffix && strcmp(path + len - suffix, SUFFIX) == 0 ? len - suffix : len;
}

bool fw_audit_rotated_path(const char *path, unsigned number, char *ret_path, size_t cap)
{
	size_t stem = stem_len(path);
	int len = snprintf(ret_path, cap, "%.*s.%0*u%s", (int)stem, path, DIGITS, number,
			   path + stem);

	return len > 0 && (size_t)len < cap;
}

/* The number in `name`, which has the form `stem`.NUMBER`suffix`; 0: it has not. */
static unsigned number_of(const char *name, const char *stem, size_t len, const char *suffix)
{
	unsigned number = 0;
	size_t digits;

	if (strncmp(name, stem, len) != 0 || name[len] != '.')
		return 0;
	name += len + 1;
	digits = strspn(name, "0123456789");
	if (digits < DIGITS || digits > 8 || strcmp(name + digits, suffix) != 0 ||
	    (digits > DIGITS && name[0] == '0'))
		return 0;
	for (size_t i = 0; i < digits; i++)
		number = number * 10 + (unsigned)(name[i] - '0');
	return number;
}

/* Opens directory `name`, relative to `at`. */
static DIR *open_directory(int at, const char *name)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;

	if (!dir && fd >= 0)
		(void)close(fd);
	return dir;
}

static fw_error *find_range(int at, const char *path, unsigned *ret_first, unsigned *ret_last)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t len = stem_len(path) - (size_t)(name - path);
	char directory[4096];
	struct dirent *entry;
	unsigned first = 0;
	unsigned last = 0;
	DIR *dir;

	if ((size_t)(name - path) >= sizeof directory)
		return fw_error_from_errno(FW_HERE, ENAMETOOLONG, "audit log");
	memcpy(directory, path, (size_t)(name - path));
	directory[name - path] = '\0';
	dir = open_directory(at, name > path ? directory : ".");
	if (!dir)
		return fw_error_from_errno(FW_HERE, errno, directory);
	/* cppcheck-suppress readdirCalled ; no other thread uses the stream */
	while ((entry = readdir(dir))) {
		unsigned number = number_of(entry->d_name, name, len, name + len);

		if (number == 0 || number > MOST)
			continue;
		if (first == 0 || number < first)
			first = number;
		if (number > last)
			last = number;
	}
	(void)closedir(dir);
	*ret_first = first;
	*ret_last = last;
	return NULL;
}

fw_error *fw_audit_rotated_range(const char *path, unsigned *ret_first, unsigned *ret_last)
{
	return find_range(AT_FDCWD, path, ret_first, ret_last);
}

fw_error *fw_audit_file_range(const struct fw_audit_file *file, unsigned *ret_first,
			      unsigned *ret_last)
{
	return find_range(fw_audit_file_at(file), fw_audit_file_name(file, file->path),
			  ret_first, ret_last);
}
