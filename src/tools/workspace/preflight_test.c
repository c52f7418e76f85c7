/*
 * The preflight command: everything it started is dead when its result is reported.
 *
 * Each test starts a bounded number of processes, and each of those ends
 * after some seconds.
 */
#include "tools/common/test_support.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "tools/workspace/preflight.h"

enum { LIMIT_MS = 400, LIFE_MS = 15000, BOMB_MOST = 50 };

static const char *self;

/* ---- what is run as a command ---- */

/* A process that forks and ends, again and again: by the time that its number is
 * read it is another one. */
static int hop(void)
{
	int64_t until = fw_steady_ms() + LIFE_MS;

	while (fw_steady_ms() < until) {
		pid_t child = fork();

		if (child > 0)
			_exit(0);
		if (child == 0)
			(void)setsid();
	}
	return 0;
}

/* A lock that the death of its holder releases; -1 if it is taken. */
static int take_slot(const char *path, int slot)
{
	char name[300];
	int fd;

	(void)snprintf(name, sizeof name, "%s.%d", path, slot);
	fd = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}

/* Each process starts others as long as one of BOMB_MOST slots is free: never more, but
 * each killed process is replaced at once by those that are left. */
static int bomb(const char *path)
{
	int64_t until = fw_steady_ms() + LIFE_MS;

	for (int slot = 0; fw_steady_ms() < until; slot = (slot + 1) % BOMB_MOST) {
		int fd = take_slot(path, slot);

		if (fd < 0)
			continue;
		/* The slot belongs to the child and is free when the child is dead. */
		if (fork() != 0)
			(void)close(fd);
	}
	return 0;
}

/* ---- helpers ---- */

/* Processes whose command line has this word in it. */
static size_t count_running(const char *word)
{
	DIR *dir = opendir("/proc");
	struct dirent *item;
	size_t found = 0;

	assert_non_null(dir);
	/* cppcheck-suppress readdirCalled ; the stream is used by one thread only */
	while ((item = readdir(dir))) {
		char path[300];
		char text[1024];
		ssize_t len = -1;
		int fd;

		(void)snprintf(path, sizeof path, "/proc/%s/cmdline", item->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0) {
			len = read(fd, text, sizeof text);
			(void)close(fd);
		}
		found += len > 0 && memmem(text, (size_t)len, word, strlen(word)) != NULL;
	}
	(void)closedir(dir);
	return found;
}

/* Runs the command as preflight does, in a separate process like a worker. */
static int run(const char *command, uint32_t limit_ms)
{
	struct fw_root root = make_root();
	pid_t worker = fork();
	int status = 0;

	if (worker == 0) {
		const char *const paths[] = { "src/a.txt" };
		const struct fw_ws_preflight how = { .command = command, .limit_ms = limit_ms };
		fw_error *err;

		(void)setpgid(0, 0);
		err = fw_ws_preflight_run(&root, &how, paths, 1);
		_exit(err ? fw_error_code(err) == FW_POLICY_PREFLIGHT_FAILED ? 1 : 2 : 0);
	}
	assert_true(worker > 0);
	assert_int_equal(waitpid(worker, &status, 0), worker);
	fw_root_close(&root);
	return status;
}

/* `what` is run in the background, and the command ends or hangs. */
static void leaves_nothing(const char *what, const char *word, bool hangs)
{
	char command[1024];
	int64_t start = fw_steady_ms();
	int status;

	(void)snprintf(command, sizeof command, "%s >/dev/null 2>&1 & %s", what,
		       hangs ? "sleep 30" : "sleep 0.2");
	status = run(command, hangs ? LIMIT_MS : 10000);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), hangs ? 1 : 0);
	assert_int_equal(count_running(word), 0);
	/* Before they would have ended on their own. */
	assert_true(fw_steady_ms() - start < LIFE_MS - 2000);
}

/* ---- tests ---- */

static void test_preflight__a_daemon_does_not_outlive_it(void **state)
{
	char what[256];

	(void)state;
	(void)snprintf(what, sizeof what, "(setsid sh -c 'setsid sleep 15.0%d & exit' &)",
		       (int)getpid() % 100000);
	leaves_nothing(what, what + strlen("(setsid sh -c 'setsid sleep "), false);
}

static void test_preflight__a_process_that_keeps_forking_does_not_outlive_it(void **state)
{
	char what[512];

	(void)state;
	(void)snprintf(what, sizeof what, "%s hop-%d", self, (int)getpid());
	leaves_nothing(what, strrchr(what, ' ') + 1, false);
	leaves_nothing(what, strrchr(what, ' ') + 1, true);
}

static void test_preflight__a_fork_bomb_does_not_outlive_its_timeout(void **state)
{
	char what[512];

	(void)state;
	(void)snprintf(what, sizeof what, "%s bomb-%d %s/slot", self, (int)getpid(), scratch);
	leaves_nothing(what, "bomb-", true);
}

static void test_preflight__an_ordinary_command_is_reported_by_its_status(void **state)
{
	(void)state;
	assert_int_equal(run("true", 5000), 0);
	assert_int_equal(WEXITSTATUS(run("exit 3", 5000)), 1);
	assert_int_equal(WEXITSTATUS(run("exec >&- 2>&-; sleep 30", LIMIT_MS)), 1);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_preflight__a_daemon_does_not_outlive_it),
		cmocka_unit_test(
			test_preflight__a_process_that_keeps_forking_does_not_outlive_it),
		cmocka_unit_test(test_preflight__a_fork_bomb_does_not_outlive_its_timeout),
		cmocka_unit_test(test_preflight__an_ordinary_command_is_reported_by_its_status),
	};
	static char path[4096];

	if (argc > 1 && strncmp(argv[1], "hop-", 4) == 0)
		return hop();
	if (argc > 2 && strncmp(argv[1], "bomb-", 5) == 0)
		return bomb(argv[2]);
	test_support_uses_all();
	self = realpath("/proc/self/exe", path);
	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
