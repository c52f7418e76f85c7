/*
 * Changes, policy and preflight: what is on the disk afterwards, also after a crash of
 * the writer.
 */
#include "tools/common/test_support.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/mem.h"
#include "tools/common/file.h"
#include "tools/workspace/change.h"
#include "tools/workspace/journal.h"
#include "tools/workspace/policy.h"
#include "tools/workspace/preflight.h"
#include "tools/workspace/write_lock.h"

static struct fw_root root;

struct change {
	struct fw_place place;
	struct fw_ws_change w;
	struct fw_ws_changes set;
	char *old_text;
};

/* Where entries are kept; NULL: in the workspace. */
static const char *trusted;

/* As write_file does it. */
static fw_error *prepare(struct change *c, const char *path, const char *text)
{
	memset(c, 0, sizeof *c);
	c->place.dir = -1;
	c->set.journal = c->set.entries = -1;
	FW_TRY(fw_place_find(&root, path, &c->place));
	if (c->place.exists)
		FW_TRY(fw_file_read(&root, path, 1 << 20, &c->old_text, &c->w.old_len));
	c->set.root = &root;
	c->set.trusted = trusted;
	c->set.list = &c->w;
	c->set.count = 1;
	c->w.place = &c->place;
	c->w.text = text;
	c->w.len = text ? strlen(text) : 0;
	c->w.old_text = c->old_text;
	FW_TRY(fw_ws_changes_begin(&c->set));
	return NULL;
}

static fw_error *preflight(const char *command, uint32_t limit_ms, const char *path)
{
	const struct fw_ws_preflight how = { .command = command, .limit_ms = limit_ms };

	return fw_ws_preflight_run(&root, &how, &path, 1);
}

static void clear(struct change *c)
{
	fw_ws_changes_clear(&c->set);
	fw_place_clear(&c->place);
	fw__release(c->old_text);
}

static fw_error *write_path(const char *path, const char *text)
{
	struct change c;
	fw_error *err = prepare(&c, path, text);

	if (!err)
		err = fw_ws_changes_apply(&c.set);
	if (!err)
		err = fw_ws_changes_keep(&c.set);
	if (!err)
		fw_ws_journal_drop(&root, trusted, c.set.id);
	clear(&c);
	return err;
}

static size_t recover(char *ret_list, size_t size)
{
	struct fw_buf list;
	size_t count = 0;

	fw_buf_init(&list, 1 << 16);
	assert_null(fw_ws_journal_recover(&root, trusted, &list, &count));
	(void)snprintf(ret_list, size, "%s", list.text ? list.text : "");
	fw_buf_clear(&list);
	return count;
}

static void assert_nothing_left(void)
{
	shell("test -z \"$(find w -name '.faultwire-*')\" && "
	      "test -z \"$(find w/.faultwire -type f 2>/dev/null)\"");
}

static void assert_gone(const char *name)
{
	char path[256];

	(void)snprintf(path, sizeof path, "%s/%s", scratch, name);
	assert_int_equal(access(path, F_OK), -1);
}

static void test_change__replaces_creates_and_deletes(void **state)
{
	(void)state;
	root = make_root();
	assert_null(write_path("src/a.txt", "new\n"));
	assert_content("w/src/a.txt", "new\n");
	assert_null(write_path("src/b.txt", "made\n"));
	assert_content("w/src/b.txt", "made\n");
	assert_null(write_path("src/a.txt", NULL));
	shell("test ! -e w/src/a.txt");
	assert_null(write_path("src/empty", ""));
	assert_content("w/src/empty", "");
	assert_nothing_left();
	fw_root_close(&root);
}

static void test_change__keeps_mode_and_owner(void **state)
{
	(void)state;
	root = make_root();
	shell("chmod 751 w/src/a.txt");
	if (geteuid() == 0)
		shell("chown 12:34 w/src/a.txt");
	assert_null(write_path("src/a.txt", "new\n"));
	shell("test $(stat -c %a w/src/a.txt) = 751");
	if (geteuid() == 0)
		shell("test $(stat -c %u:%g w/src/a.txt) = 12:34");
	/* Through a link: the link stays, its target is written. */
	shell("ln -s a.txt w/src/link");
	assert_null(write_path("src/link", "again\n"));
	shell("test -L w/src/link");
	assert_content("w/src/a.txt", "again\n");
	fw_root_close(&root);
}

static void test_change__undo_restores_the_old_state(void **state)
{
	struct change c;

	(void)state;
	root = make_root();
	assert_null(prepare(&c, "src/a.txt", "new\n"));
	assert_null(fw_ws_changes_apply(&c.set));
	assert_content("w/src/a.txt", "new\n");
	assert_null(fw_ws_changes_undo(&c.set));
	assert_content("w/src/a.txt", "inside\n");
	clear(&c);
	assert_null(prepare(&c, "src/b.txt", "new\n"));
	assert_null(fw_ws_changes_apply(&c.set));
	assert_null(fw_ws_changes_undo(&c.set));
	shell("test ! -e w/src/b.txt");
	clear(&c);
	assert_null(prepare(&c, "src/a.txt", NULL));
	assert_null(fw_ws_changes_apply(&c.set));
	shell("test ! -e w/src/a.txt");
	assert_null(fw_ws_changes_undo(&c.set));
	assert_content("w/src/a.txt", "inside\n");
	clear(&c);
	assert_nothing_left();
	fw_root_close(&root);
}

static void test_change__a_concurrent_write_of_another_process_is_kept(void **state)
{
	struct change c;

	(void)state;
	root = make_root();
	assert_null(prepare(&c, "src/a.txt", "new\n"));
	shell("echo theirs >w/src/a.txt");
	assert_code(fw_ws_changes_apply(&c.set), FW_FILE_HASH_MISMATCH);
	assert_content("w/src/a.txt", "theirs\n");
	clear(&c);
	assert_null(prepare(&c, "src/b.txt", "new\n"));
	shell("echo theirs >w/src/b.txt");
	assert_code(fw_ws_changes_apply(&c.set), FW_FILE_ALREADY_EXISTS);
	assert_content("w/src/b.txt", "theirs\n");
	clear(&c);
	assert_nothing_left();
	fw_root_close(&root);
}

/* Otherwise a write that removes what the command forbids could never succeed. */
static void test_change__the_preflight_command_does_not_see_the_old_file(void **state)
{
	struct change c;

	(void)state;
	root = make_root();
	assert_null(prepare(&c, "src/a.txt", "new\n"));
	shell("test \"$(ls -A w/src)\" = a.txt");
	assert_null(fw_ws_changes_apply(&c.set));
	shell("test \"$(ls -A w/src)\" = a.txt");
	assert_null(preflight("! grep -rq inside src", 5000, "src/a.txt"));
	assert_null(fw_ws_changes_undo(&c.set));
	assert_content("w/src/a.txt", "inside\n");
	clear(&c);
	assert_null(prepare(&c, "src/a.txt", NULL));
	assert_null(fw_ws_changes_apply(&c.set));
	shell("test -z \"$(ls -A w/src)\"");
	assert_null(fw_ws_changes_undo(&c.set));
	assert_content("w/src/a.txt", "inside\n");
	clear(&c);
	assert_nothing_left();
	fw_root_close(&root);
}

static void test_change__undo_restores_content_that_a_command_removed(void **state)
{
	struct change c;

	(void)state;
	for (int deletes = 0; deletes < 2; deletes++) {
		root = make_root();
		shell("chmod 751 w/src/a.txt");
		assert_null(prepare(&c, "src/a.txt", deletes ? NULL : "new\n"));
		assert_null(fw_ws_changes_apply(&c.set));
		shell("rm -rf w/.faultwire && echo other >w/src/a.txt");
		assert_null(fw_ws_changes_undo(&c.set));
		assert_content("w/src/a.txt", "inside\n");
		shell("test $(stat -c %a w/src/a.txt) = 751");
		clear(&c);
		assert_nothing_left();
		fw_root_close(&root);
	}
}

/* The directory is on another file system. */
static void test_change__works_below_a_mount_point(void **state)
{
	struct change c;
	char where[128];
	char list[1024];

	(void)state;
	root = make_root();
	(void)snprintf(where, sizeof where, "%s/w/src", scratch);
	if (geteuid() != 0 || mount("none", where, "tmpfs", 0, "size=64k") != 0) {
		fw_root_close(&root);
		skip();
	}
	shell("echo old >w/src/a.txt");
	assert_null(write_path("src/a.txt", "new\n"));
	assert_content("w/src/a.txt", "new\n");
	for (int deletes = 0; deletes < 2; deletes++) {
		assert_null(prepare(&c, "src/a.txt", deletes ? NULL : "newer\n"));
		assert_null(fw_ws_changes_apply(&c.set));
		assert_null(fw_ws_changes_undo(&c.set));
		assert_content("w/src/a.txt", "new\n");
		clear(&c);
		/* Also by recovery after a crash. */
		assert_null(prepare(&c, "src/a.txt", deletes ? NULL : "newer\n"));
		assert_null(fw_ws_changes_apply(&c.set));
		clear(&c);
		assert_int_equal(recover(list, sizeof list), 1);
		assert_content("w/src/a.txt", "new\n");
	}
	assert_null(write_path("src/a.txt", NULL));
	assert_nothing_left();
	shell("test -z \"$(ls -A w/src)\"");
	(void)umount(where);
	fw_root_close(&root);
}

/* A writer that stops after `steps` steps, as if it had been killed. */
static void die_after(const char *path, const char *text, int steps)
{
	struct change c;

	assert_null(prepare(&c, path, text));
	if (steps > 1)
		assert_null(fw_ws_changes_apply(&c.set));
	if (steps > 2)
		assert_null(fw_ws_changes_keep(&c.set));
	clear(&c);
}

static void test_journal__recovery_undoes_pending_changes_and_keeps_final_ones(void **state)
{
	static const struct {
		const char *path, *text;
		const char *after[3]; /* NULL: no such file */
	} cases[] = {
		{ "src/a.txt", "new\n", { "inside\n", "inside\n", "new\n" } },
		{ "src/b.txt", "new\n", { NULL, NULL, "new\n" } },
		{ "src/a.txt", NULL, { "inside\n", "inside\n", NULL } },
	};
	char list[1024];
	char name[64];

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		for (int steps = 1; steps <= 3; steps++) {
			root = make_root();
			die_after(cases[i].path, cases[i].text, steps);
			assert_int_equal(recover(list, sizeof list), 1);
			assert_non_null(strstr(list, cases[i].path));
			assert_non_null(strstr(list, steps == 3 ? "\"outcome\":\"new\""
								: "\"outcome\":\"old\""));
			(void)snprintf(name, sizeof name, "w/%s", cases[i].path);
			if (cases[i].after[steps - 1])
				assert_content(name, cases[i].after[steps - 1]);
			else
				assert_gone(name);
			assert_nothing_left();
			assert_int_equal(recover(list, sizeof list), 0);
			fw_root_close(&root);
		}
	}
}

static void test_journal__unreadable_entries_are_ignored(void **state)
{
	char list[1024];

	(void)state;
	root = make_root();
	shell("mkdir -p w/.faultwire/journal && cd w/.faultwire/journal && "
	      "echo '{' >1.pending && : >2.done && "
	      "echo '{\"path\":\"../outside/s.txt\",\"temp\":\".faultwire-x\","
	      "\"old\":null,\"new\":\"x\"}' >3.pending && "
	      "echo '{\"path\":\"src/a.txt\",\"temp\":\"../../outside/s.txt\","
	      "\"old\":null,\"new\":\"x\"}' >4.done && ln -s /etc/passwd 5.pending");
	assert_int_equal(recover(list, sizeof list), 0);
	assert_content("outside/s.txt", "secret\n");
	assert_content("w/src/a.txt", "inside\n");
	fw_root_close(&root);
}

static void test_write_lock__has_one_holder_and_is_released_by_death(void **state)
{
	int first, second, status;
	pid_t child;

	(void)state;
	root = make_root();
	assert_null(fw_ws_write_lock(&root, 0, &first));
	assert_code(fw_ws_write_lock(&root, 20, &second), FW_RUNTIME_TIMEOUT);
	fw_ws_write_unlock(first);
	child = fork();
	if (child == 0) {
		fw_error *err = fw_ws_write_lock(&root, 1000, &first);

		_exit(err ? 1 : 0); /* with the lock */
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_null(fw_ws_write_lock(&root, 1000, &first));
	fw_ws_write_unlock(first);
	fw_root_close(&root);
}

/* ---- full disks and other limits ---- */

static char big[256 * 1024];

static void test_change__a_full_disk_leaves_the_old_content(void **state)
{
	char where[128];

	(void)state;
	root = make_root();
	(void)snprintf(where, sizeof where, "%s/w/src", scratch);
	if (geteuid() != 0 || mount("none", where, "tmpfs", 0, "size=64k") != 0) {
		fw_root_close(&root);
		skip();
	}
	shell("echo old >w/src/a.txt");
	memset(big, 'x', sizeof big - 1);
	assert_code(write_path("src/a.txt", big), FW_IO_NO_SPACE);
	assert_content("w/src/a.txt", "old\n");
	assert_nothing_left();
	assert_int_equal(mount("none", where, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
	assert_code(write_path("src/a.txt", "new\n"), FW_FILE_WRITE_FAILED);
	assert_code(write_path("src/a.txt", NULL), FW_FILE_WRITE_FAILED);
	assert_content("w/src/a.txt", "old\n");
	(void)umount(where);
	assert_nothing_left();
	fw_root_close(&root);
}

/* In another process, as a user without permission. */
static int as_nobody(void (*run)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0) {
		if (geteuid() == 0 && (setgid(65534) != 0 || setuid(65534) != 0))
			_exit(2);
		run();
		_exit(0);
	}
	(void)waitpid(child, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void must(fw_error *err, int code)
{
	if (fw_error_code(err) != code) {
		(void)fprintf(stderr, "expected %d, got %d: %s\n", code, fw_error_code(err),
			      err ? fw_error_message(err) : "success");
		_exit(1);
	}
	fw_error_free(err);
}

static void write_denied(void)
{
	char *text;
	size_t len;

	must(write_path("src/a.txt", "new\n"), FW_AUTH_INSUFFICIENT_PERMISSIONS);
	must(fw_file_read(&root, "src/closed", 100, &text, &len),
	     FW_AUTH_INSUFFICIENT_PERMISSIONS);
	must(fw_file_read(&root, "shut/x", 100, &text, &len), FW_AUTH_INSUFFICIENT_PERMISSIONS);
}

static void test_change__without_permission_nothing_changes(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	root = make_root();
	shell("chmod 755 . && chmod 755 w w/src && echo x >w/src/closed && "
	      "chmod 600 w/src/closed && mkdir w/shut && chmod 700 w/shut");
	assert_int_equal(as_nobody(write_denied), 0);
	assert_content("w/src/a.txt", "inside\n");
	fw_root_close(&root);
}

static void write_without_descriptors(void)
{
	struct rlimit limit = { 0, 0 };
	int fds[64];
	char *text;
	size_t len;
	int count = 0;

	limit.rlim_cur = limit.rlim_max = 40;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	while (count < 64 && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		count++;
	must(fw_file_read(&root, "src/a.txt", 100, &text, &len), FW_IO_TOO_MANY_FILES);
	must(write_path("src/a.txt", "new\n"), FW_IO_TOO_MANY_FILES);
	/* Also with every number of descriptors that is not quite enough. */
	for (int i = 0; i < 6; i++) {
		fw_error *err;

		(void)close(fds[--count]);
		err = write_path("src/a.txt", "inside\n");
		if (err && fw_error_code(err) != FW_IO_TOO_MANY_FILES)
			must(err, FW_IO_TOO_MANY_FILES);
		fw_error_free(err);
	}
}

static void test_change__without_descriptors_nothing_changes(void **state)
{
	(void)state;
	root = make_root();
	shell("chmod -R a+rwX . && if test $(id -u) = 0; then chown -R 65534:65534 .; fi");
	assert_int_equal(as_nobody(write_without_descriptors), 0);
	assert_content("w/src/a.txt", "inside\n");
	fw_root_close(&root);
}

/* ---- policy ---- */

static struct fw_ws_policy *policy_of(const char *json)
{
	struct fw_ws_policy *policy = NULL;
	fw_error *err = fw_ws_policy_new(json, strlen(json), &policy);

	if (err)
		fail_msg("%s", fw_error_message(err));
	return policy;
}

static void expect_rule(const struct fw_ws_policy *policy, const char *path, const char *text,
			int code, const char *rule, uint64_t line)
{
	fw_error *err = fw_ws_policy_check(policy, path, text, strlen(text));
	fw_field field;

	if (fw_error_code(err) != code)
		fail_msg("%s: %s", path, err ? fw_error_message(err) : "nothing");
	if (code) {
		assert_true(fw_error_find_field(err, "rule", &field));
		assert_string_equal(field.string, rule);
		assert_true(fw_error_find_field(err, "line", &field));
		assert_int_equal(field.u64, line);
	}
	fw_error_free(err);
}

static void test_policy__the_built_in_rules_find_violations(void **state)
{
	struct fw_ws_policy *p = policy_of(fw_ws_policy_default);
	const int rust = FW_POLICY_RUST_VIOLATION;

	(void)state;
	expect_rule(p, "src/a.py", "x = 1\n# TODO later\n", FW_POLICY_VIOLATION,
		    "no-placeholder", 2);
	expect_rule(p, "README.md", "TODO: write\n", 0, NULL, 0);
	expect_rule(p, "a.txt", "a\n<<<<<<< HEAD\n", FW_POLICY_VIOLATION, "no-conflict-marker",
		    2);
	expect_rule(p, "k.pem",
		    "-----BEGIN RSA PRIVATE "
		    "KEY-----\n",
		    FW_POLICY_VIOLATION, "no-private-key", 1);
	expect_rule(p, "a.js", "f();\n  debugger;\n", FW_POLICY_VIOLATION, "no-debugger", 2);
	expect_rule(p, "a.py", "breakpoint()\n", FW_POLICY_VIOLATION, "no-breakpoint", 1);
	expect_rule(p, "src/lib.rs", "fn f() {\n\tx.unwrap();\n}\n", rust, "no-unwrap", 2);
	expect_rule(p, "tests/it.rs", "x.unwrap();\n", 0, NULL, 0);
	expect_rule(p, "src/lib.rs", "panic!(\"x\");\n", rust, "no-panic", 1);
	expect_rule(p, "src/lib.rs", "let x = 1;\nunsafe { f() }\n", rust,
		    "unsafe-needs-reason", 2);
	expect_rule(p, "src/lib.rs", "// SAFETY: f is fine\nunsafe { f() }\n", 0, NULL, 0);
	expect_rule(p, "src/lib.rs", "#[allow(dead_code)]\n", rust, "no-silenced-lint", 1);
	expect_rule(p, "src/lib.rs", "fn f() -> R { g()? }\n", 0, NULL, 0);
	fw_ws_policy_free(p);
}

static void expect_bad_rules(const char *json, const char *part)
{
	struct fw_ws_policy *policy = NULL;
	fw_error *err = fw_ws_policy_new(json, strlen(json), &policy);

	assert_non_null(err);
	if (!strstr(fw_error_message(err), part))
		fail_msg("%s", fw_error_message(err));
	fw_error_free(err);
}

static void test_policy__errors_name_the_invalid_rule(void **state)
{
	(void)state;
	expect_bad_rules("{", "JSON");
	expect_bad_rules("{}", "array");
	expect_bad_rules("[{}]", "id of rule 1");
	expect_bad_rules("[{\"id\":\"r\",\"globs\":[\"/x\"],\"pattern\":\"a\"}]",
			 "globs of rule r");
	expect_bad_rules("[{\"id\":\"r\",\"globs\":\"**\",\"pattern\":\"(\"}]",
			 "pattern of rule r");
	expect_bad_rules("[{\"id\":\"r\",\"globs\":\"**\",\"pattern\":\"a\",\"x\":1}]",
			 "x of rule r");
	expect_bad_rules("[{\"id\":\"r\",\"globs\":\"**\",\"pattern\":\"a\",\"set\":\"c\"}]",
			 "set of rule r");
}

static void test_policy__a_rule_that_exceeds_its_limits_refuses(void **state)
{
	struct fw_ws_policy *p = policy_of("[{\"id\":\"slow\",\"globs\":\"**\","
					   "\"pattern\":\"^(a|aa|aaa)+$(?<=b)\"}]");
	char text[2000];

	(void)state;
	memset(text, 'a', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	expect_rule(p, "x", text, FW_POLICY_VIOLATION, "slow", 1);
	fw_ws_policy_free(p);
}

static void make_policy(void)
{
	struct fw_ws_policy *policy = NULL;
	fw_error *err =
		fw_ws_policy_new(fw_ws_policy_default, strlen(fw_ws_policy_default), &policy);

	fw_ws_policy_free(policy);
	fw_error_free(err);
}

static void write_once(void)
{
	fw_error *err = write_path("src/a.txt", "new\n");

	fw_error_free(err);
}

static void test_change__and_policy_survive_every_allocation_failure(void **state)
{
	char list[1024];

	(void)state;
	root = make_root();
	each_allocation_fails(make_policy);
	each_allocation_fails(write_once);
	(void)recover(list, sizeof list);
	assert_nothing_left();
	fw_root_close(&root);
}

/* ---- preflight ---- */

static void test_preflight__reports_status_and_the_end_of_the_output(void **state)
{
	fw_error *err;
	fw_cause cause;
	fw_field field;

	(void)state;
	root = make_root();
	assert_null(preflight("test -f src/a.txt", 5000, "src/a.txt"));
	assert_null(preflight("test \"$FAULTWIRE_PATH\" = src/a.txt", 5000, "src/a.txt"));
	assert_null(preflight("test -z \"$XDG_RUNTIME_DIR$FW_ROOT\"", 5000, "x"));
	err = preflight("seq 100000; echo the end >&2; exit 7", 5000, "x");
	assert_int_equal(fw_error_code(err), FW_POLICY_PREFLIGHT_FAILED);
	assert_true(fw_error_find_field(err, "exit_status", &field));
	assert_int_equal(field.i64, 7);
	assert_true(fw_error_cause(err, 0, &cause));
	assert_non_null(strstr(cause.message, "the end"));
	assert_true(strlen(cause.message) <= 2048);
	fw_error_free(err);
	err = preflight("kill -SEGV $$", 5000, "x");
	assert_true(fw_error_find_field(err, "exit_status", &field));
	assert_int_equal(field.i64, 128 + 11);
	fw_error_free(err);
	fw_root_close(&root);
}

static void test_preflight__ends_all_processes_at_the_time_limit(void **state)
{
	fw_error *err;
	fw_field field;

	(void)state;
	root = make_root();
	err = preflight("sleep 61 & (setsid sleep 61 &) ; sleep 61", 300, "x");
	assert_true(fw_error_find_field(err, "timed_out", &field));
	fw_error_free(err);
	/* No process is left, neither running nor as a zombie. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	err = preflight("(setsid sleep 61 >/dev/null 2>&1 &) ; exit 0", 3000, "x");
	assert_null(err);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	fw_root_close(&root);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change__replaces_creates_and_deletes),
		cmocka_unit_test(test_change__keeps_mode_and_owner),
		cmocka_unit_test(test_change__undo_restores_the_old_state),
		cmocka_unit_test(test_change__a_concurrent_write_of_another_process_is_kept),
		cmocka_unit_test(test_change__the_preflight_command_does_not_see_the_old_file),
		cmocka_unit_test(test_change__undo_restores_content_that_a_command_removed),
		cmocka_unit_test(test_change__works_below_a_mount_point),
		cmocka_unit_test(
			test_journal__recovery_undoes_pending_changes_and_keeps_final_ones),
		cmocka_unit_test(test_journal__unreadable_entries_are_ignored),
		cmocka_unit_test(test_write_lock__has_one_holder_and_is_released_by_death),
		cmocka_unit_test(test_change__a_full_disk_leaves_the_old_content),
		cmocka_unit_test(test_change__without_permission_nothing_changes),
		cmocka_unit_test(test_change__without_descriptors_nothing_changes),
		cmocka_unit_test(test_policy__the_built_in_rules_find_violations),
		cmocka_unit_test(test_policy__errors_name_the_invalid_rule),
		cmocka_unit_test(test_policy__a_rule_that_exceeds_its_limits_refuses),
		cmocka_unit_test(test_change__and_policy_survive_every_allocation_failure),
		cmocka_unit_test(test_preflight__reports_status_and_the_end_of_the_output),
		cmocka_unit_test(test_preflight__ends_all_processes_at_the_time_limit),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
