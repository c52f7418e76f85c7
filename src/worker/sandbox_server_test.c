/*
 * sandbox_server_test.c - confining the server process: misuse, and features that a
 * kernel lacks. test/wire/sandbox_server.mjs tests what is refused then.
 */
#include "worker/sandbox_test.h"

#include <pthread.h>

#include <faultwire/codes.h>
#include <faultwire/serve.h>

#include "worker/sandbox_impl.h"

static fw_server *new_server(void)
{
	fw_server_options options = FW_SERVER_OPTIONS_INIT;
	fw_server *server = NULL;

	options.name = "test";
	options.version = "1";
	assert_null(fw_server_new(&options, &server));
	return server;
}

static void assert_raises(fw_error *err, fw_code code)
{
	assert_non_null(err);
	assert_int_equal(fw_error_code(err), code);
	fw_error_free(err);
}

/* ---- misuse ------------------------------------------------------------------ */

static void test_confine__needs_a_server_and_options(void **state)
{
	const fw_confine_options options = FW_CONFINE_INIT;
	fw_server *server = new_server();

	(void)state;
	assert_raises(fw_server_confine(NULL, &options), FW_INTERNAL_API_MISUSE);
	assert_raises(fw_server_confine(server, NULL), FW_INTERNAL_API_MISUSE);
	fw_server_free(server);
}

static void test_confine__twice_is_misuse(void **state)
{
	const fw_confine_options options = FW_CONFINE_INIT;
	fw_server *server = new_server();

	(void)state;
	assert_null(fw_server_confine(server, &options));
	assert_raises(fw_server_confine(server, &options), FW_INTERNAL_API_MISUSE);
	fw_server_free(server);
}

static void test_confine__after_prepare_is_too_late(void **state)
{
	const fw_confine_options options = FW_CONFINE_INIT;
	fw_server *server = new_server();

	(void)state;
	assert_null(fw_server_prepare(server));
	assert_raises(fw_server_confine(server, &options), FW_INTERNAL_API_MISUSE);
	fw_server_free(server);
}

static void test_confine__a_path_that_is_not_there_is_named(void **state)
{
	static const char *const nowhere[] = { "/nowhere/at/all", NULL };
	fw_confine_options options = FW_CONFINE_INIT;
	fw_server *server = new_server();
	fw_error *err;

	(void)state;
	options.readable = nowhere;
	err = fw_server_confine(server, &options);
	assert_non_null(err);
	assert_non_null(strstr(fw_error_message(err), "the server may read"));
	assert_non_null(strstr(fw_error_message(err), nowhere[0]));
	fw_error_free(err);
	/* It can be tried again. */
	options.readable = NULL;
	assert_null(fw_server_confine(server, &options));
	fw_server_free(server);
}

/* ---- in a process of its own ---------------------------------------------------- */

static void *wait_without_end(void *ctx)
{
	(void)pause();
	return ctx;
}

/* The exit status of a child that confines itself. */
static int in_child(attempt_fn *attempt)
{
	const pid_t child = fork();
	int status = 0;

	assert_true(child >= 0);
	if (child == 0)
		_exit(attempt());
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static fw_error *confine_and_prepare(fw_sandbox sandbox)
{
	fw_confine_options options = FW_CONFINE_INIT;
	fw_server *server = new_server();

	options.sandbox = sandbox;
	options.readable = readable;
	options.writable = writable;
	FW_TRY(fw_server_confine(server, &options));
	return fw_server_prepare(server);
}

static int prepare_with_a_thread(void)
{
	pthread_t thread;
	fw_error *err;

	if (pthread_create(&thread, NULL, wait_without_end, NULL))
		return NOT_ENTERED;
	err = confine_and_prepare(FW_SANDBOX_REQUIRED);
	return err && fw_error_code(err) == FW_INTERNAL_API_MISUSE ? 0 : NOT_SO;
}

static void test_confine__refuses_a_process_that_has_threads(void **state)
{
	(void)state;
	assert_int_equal(in_child(prepare_with_a_thread), 0);
}

static int open_after_prepare(void)
{
	if (confine_and_prepare(FW_SANDBOX_REQUIRED))
		return NOT_ENTERED;
	if (open_and_close(in_file, O_RDONLY) ||
	    open_and_close(out_file, O_WRONLY | O_CREAT | O_TRUNC))
		return NOT_SO;
	return open_and_close(secret, O_RDONLY);
}

static void test_confine__limits_files_from_prepare_on(void **state)
{
	(void)state;
	assert_int_equal(in_child(open_after_prepare), EACCES);
}

static int open_unconfined(void)
{
	return confine_and_prepare(FW_SANDBOX_OFF) ? NOT_ENTERED
						   : open_and_close(secret, O_RDONLY);
}

static void test_confine__off_limits_nothing(void **state)
{
	(void)state;
	assert_int_equal(in_child(open_unconfined), 0);
}

/* ---- what is missing --------------------------------------------------------------- */

static void test_confine__connecting_needs_rules_for_ports(void **state)
{
	struct fw_sandbox_report report = { .landlock_abi = 3, .has_seccomp = true };

	(void)state;
	fw_sandbox_assess_server(&report, false);
	assert_null(strstr(report.missing, "TCP"));
	fw_sandbox_assess_server(&report, true);
	assert_non_null(strstr(report.missing, "no rules for TCP (Landlock 4, Linux 6.7)"));
	report.landlock_abi = 6;
	fw_sandbox_assess_server(&report, true);
	assert_string_equal(report.missing, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_confine__needs_a_server_and_options),
		cmocka_unit_test(test_confine__twice_is_misuse),
		cmocka_unit_test(test_confine__after_prepare_is_too_late),
		cmocka_unit_test(test_confine__a_path_that_is_not_there_is_named),
		cmocka_unit_test(test_confine__refuses_a_process_that_has_threads),
		cmocka_unit_test(test_confine__limits_files_from_prepare_on),
		cmocka_unit_test(test_confine__off_limits_nothing),
		cmocka_unit_test(test_confine__connecting_needs_rules_for_ports),
	};

	return can_be_tested()
		       ? cmocka_run_group_tests_name("sandbox_server", tests, set_up, tear_down)
		       : 0;
}
