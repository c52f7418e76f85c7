/*
 * audit_test.h - for the tests of the audit log: a temporary directory with a log in it.
 */
#ifndef FW_OBSERVE_AUDIT_TEST_H
#define FW_OBSERVE_AUDIT_TEST_H

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/contract/support.h"

#include "base/limits.h"
#include "observe/audit/audit_writer.h"

static char directory[64];
static char path[128];

/* ---- a place of its own for each test ---------------------------------- */

static inline int setup(void **state)
{
	(void)state;
	(void)snprintf(directory, sizeof directory, "/tmp/fw-audit-XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	(void)snprintf(path, sizeof path, "%s/audit-log.jsonl", directory);
	return 0;
}

static inline int remove_one(const char *name, const struct stat *info, int kind,
			     struct FTW *place)
{
	(void)info;
	(void)kind;
	(void)place;
	return remove(name);
}

static inline int teardown(void **state)
{
	bool is_gone = nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS) == 0;

	(void)state;
	return is_gone && fw_error_live() == 0 ? 0 : -1;
}

static inline char *read_all(const char *name, size_t *ret_len)
{
	int fd = open(name, O_RDONLY);
	struct stat info;
	char *text;

	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &info), 0);
	text = malloc((size_t)info.st_size + 1);
	assert_non_null(text);
	assert_int_equal(read(fd, text, (size_t)info.st_size), info.st_size);
	text[info.st_size] = '\0';
	(void)close(fd);
	if (ret_len)
		*ret_len = (size_t)info.st_size;
	return text;
}

static inline void write_all(const char *name, const char *text, size_t len)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	(void)close(fd);
}

static inline void write_behind(const char *name, const char *text, size_t len)
{
	int fd = open(name, O_WRONLY | O_APPEND);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), len);
	(void)close(fd);
}

static inline struct fw_audit *opened(const struct fw_audit_options *options)
{
	struct fw_audit *audit = NULL;
	fw_error *err = fw_audit_open(path, options, &audit);

	if (err)
		fail_msg("%s", fw_error_message(err));
	return audit;
}

/* Records a failure. */
static inline fw_error *record(struct fw_audit *audit, const char *what)
{
	fw_error *failed = fw_raise_file_not_found(what);
	struct fw_audit_record entry = { .error = failed, .tool_name = "read_file" };
	fw_error *err;

	entry.unix_ms = INT64_C(1768836730123);
	fw_error_set_incident_id(failed, "inc_20260119_abcdefgh");
	entry.args = "{\"path\":\"a\"}";
	entry.args_len = strlen(entry.args);
	err = fw_audit_append_wait(audit, &entry);
	fw_error_free(failed);
	return err;
}

static inline void must(fw_error *err)
{
	if (err)
		fail_msg("%s", fw_error_message(err));
}

static inline struct fw_audit_report verified(bool partial)
{
	struct fw_audit_verify_options options = { .partial = partial };
	struct fw_audit_report report;

	must(fw_audit_verify(path, &options, &report));
	return report;
}

static inline void assert_whole(uint64_t records)
{
	struct fw_audit_report report = verified(false);

	if (report.fault != FW_AUDIT_WHOLE)
		fail_msg("%s:%llu: %s: %s", report.file, (unsigned long long)report.line,
			 fw_audit_fault_name(report.fault), report.reason);
	assert_int_equal(report.records, records);
	assert_int_equal(report.last_seq, records);
}

static inline void write_log(unsigned records)
{
	struct fw_audit *audit = opened(NULL);

	for (unsigned i = 0; i < records; i++)
		must(record(audit, "a/b"));
	assert_true(fw_audit_close(audit));
}

#endif
