/*
 * The toolset: what it checks before the server starts, and that memory may
 * run out at any moment of it.
 */
#include "tools/common/test_support.h"

#include "tools/workspace/workspace.h"

static struct fw_workspace_options options;
static char directory[80];
static char key[96];

static int set_up(void **state)
{
	if (scratch_make(state))
		return 1;
	(void)snprintf(directory, sizeof directory, "%s/w", scratch);
	(void)snprintf(key, sizeof key, "%s/config/plan.key", scratch);
	options.directory = directory;
	options.role = "windsurf";
	options.plan_key = key;
	return mkdir(directory, 0700);
}

static fw_server *make_server(void)
{
	fw_server_options about = FW_SERVER_OPTIONS_INIT;
	fw_server *server = NULL;

	about.name = "test";
	about.version = "1";
	assert_null(fw_server_new(&about, &server));
	return server;
}

static fw_error *add(void)
{
	fw_server *server = make_server();
	fw_workspace *ws = NULL;
	fw_error *err = fw_workspace_add(server, &options, &ws);

	assert_int_equal(!err, ws != NULL);
	fw_server_free(server);
	fw_workspace_free(ws);
	return err;
}

static fw_error *verify_broken(const char *path, struct fw_toolset_audit_report *ret_report)
{
	(void)path;
	ret_report->is_intact = false;
	(void)snprintf(ret_report->reason, sizeof ret_report->reason, "chain is broken");
	return NULL;
}

static void expect(int code, const char *words)
{
	fw_error *err = add();
	char text[512] = "";

	if (err)
		(void)fw_error_text(err, text, sizeof text);
	if (fw_error_code(err) != code || !strstr(text, words))
		fail_msg("%d: %s", fw_error_code(err), text);
	fw_error_free(err);
}

static void test_workspace__checks_itself_before_it_starts(void **state)
{
	struct fw_workspace_options good = options;
	char inside[128];

	(void)state;
	expect(0, "");
	options.role = "nobody";
	expect(FW_INPUT_INVALID_VALUE, "windsurf or antigravity");
	options = good;
	options.directory = "/no/such/folder";
	expect(FW_PATH_NOT_FOUND, "/no/such/folder");
	options = good;
	options.policy = "[{\"id\":\"x\"}]";
	expect(FW_INPUT_INVALID_VALUE, "of rule x");
	options = good;
	(void)snprintf(inside, sizeof inside, "%s/key", directory);
	options.plan_key = inside;
	expect(FW_GOVERNANCE_SELF_AUDIT_FAILED, "inside the workspace");
	/* Through a link it is still inside. */
	shell("ln -s w link && rm -f w/key");
	(void)snprintf(inside, sizeof inside, "%s/link/key", scratch);
	expect(FW_GOVERNANCE_SELF_AUDIT_FAILED, "inside the workspace");
	options = good;
	shell("chmod 644 config/plan.key");
	expect(FW_GOVERNANCE_SELF_AUDIT_FAILED, "owner alone");
	shell("chmod 600 config/plan.key && : >w/audit-log.jsonl");
	options.verify_audit = verify_broken;
	expect(FW_GOVERNANCE_SELF_AUDIT_FAILED, "chain is broken");
	options = good;
	expect(0, "");
}

/* The server itself is created without failing allocations. */
static void add_without_memory(void)
{
	size_t fail_at = memory_fail_at;
	fw_workspace *ws = NULL;
	fw_server *server;
	fw_error *err;

	memory_fail_at = 0;
	server = make_server();
	memory_calls = 0;
	memory_fail_at = fail_at;
	err = fw_workspace_add(server, &options, &ws);
	memory_fail_at = 0;
	assert_int_equal(!err, ws != NULL);
	fw_error_free(err);
	fw_server_free(server);
	fw_workspace_free(ws);
}

static void test_workspace__adding_survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(add_without_memory);
	print_message("# %zu allocations\n", memory_calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_workspace__checks_itself_before_it_starts),
		cmocka_unit_test(test_workspace__adding_survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, set_up, scratch_drop);
}
