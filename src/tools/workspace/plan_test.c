/*
 * Plans and globs: what is a valid plan, what its hash covers, and when an
 * approval is valid.
 */
#include "tools/common/test_support.h"

#include "base/buf.h"
#include "tools/common/glob.h"
#include "tools/workspace/bootstrap.h"
#include "tools/workspace/plan.h"
#include "tools/workspace/protect.h"

static const struct fw_ws_key key = { .bytes = { 1, 2, 3 }, .is_set = true };
static const struct fw_ws_key other_key = { .bytes = { 3, 2, 1 }, .is_set = true };

#define FIELDS "ROLE: ANTIGRAVITY\nSTATUS: PENDING\nSCOPE: src/**, docs/*.md\n"
#define DRAFT "<!--\nKAIZA_PLAN_HASH: PENDING_HASH\n" FIELDS "-->\n\n# Title\n\nText.\n"

static struct fw_ws_plan read_plan(const char *text)
{
	struct fw_ws_plan plan;
	char fault[FW_WS_FAULT_SIZE];

	if (!fw_ws_plan_read(text, strlen(text), &plan, fault))
		fail_msg("%s", fault);
	return plan;
}

/* The plan as it is saved, approved with `signer`; release it with free(). */
static char *approved(const char *draft, const struct fw_ws_key *signer, char *ret_hash)
{
	struct fw_ws_plan plan = read_plan(draft);
	char signature[FW_SHA256_TEXT];
	struct fw_buf out;
	char *text;

	fw_buf_init(&out, 1 << 20);
	assert_true(fw_ws_plan_sign(&plan, signer, "/w", signature));
	fw_ws_plan_write(&plan, plan.computed, "APPROVED", signature, &out);
	text = strdup(out.text);
	(void)snprintf(ret_hash, FW_SHA256_TEXT, "%s", plan.computed);
	fw_buf_clear(&out);
	return text;
}

static void test_plan__the_hash_covers_all_but_hash_status_and_signature(void **state)
{
	char hash[FW_SHA256_TEXT];
	char *text = approved(DRAFT, &key, hash);
	struct fw_ws_plan plan = read_plan(text);

	(void)state;
	assert_string_equal(plan.computed, hash);
	assert_null(fw_ws_plan_verify(&plan, hash, &key, "/w"));
	assert_true(plan.is_approved);
	assert_int_equal(plan.title.len, 5);
	free(text);
	/* As a person can compute it. */
	fw_sha256_text(DRAFT, strlen(DRAFT), hash);
	assert_string_equal(read_plan(DRAFT).computed, hash);
}

static void expect_refusal(const char *text, const char *name, const struct fw_ws_key *with,
			   const char *why)
{
	struct fw_ws_plan plan = read_plan(text);
	const char *refusal = fw_ws_plan_verify(&plan, name, with, "/w");

	assert_non_null(refusal);
	if (strncmp(refusal, why, strlen(why)) != 0)
		fail_msg("%s, not %s", refusal, why);
}

static char *replaced(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);
	char *out = calloc(1, strlen(text) + strlen(to) + 1);

	assert_non_null(at);
	assert_non_null(out);
	memcpy(out, text, (size_t)(at - text));
	memcpy(out + (at - text), to, strlen(to));
	memcpy(out + (at - text) + strlen(to), at + strlen(from), strlen(at + strlen(from)));
	return out;
}

static void test_plan__forged_approvals_are_detected(void **state)
{
	static const char no_match[] = "its hash does not match its content";
	char hash[FW_SHA256_TEXT], second[FW_SHA256_TEXT];
	char *text = approved(DRAFT, &key, hash);
	char *other = approved(DRAFT "More.\n", &key, second);
	char *forged;
	char line[128];

	(void)state;
	/* Scope, role and body changed after approval. */
	forged = replaced(text, "src/**", "**");
	expect_refusal(forged, hash, &key, no_match);
	free(forged);
	forged = replaced(text, "Text.", "Test.");
	expect_refusal(forged, hash, &key, no_match);
	free(forged);
	forged = replaced(text, "# Title", "NOTE: x\n# Title");
	expect_refusal(forged, hash, &key, no_match);
	free(forged);
	/* With a correct hash in the header and the old signature. */
	forged = replaced(text, "src/**", "**");
	free(text);
	text = replaced(forged, hash, read_plan(forged).computed);
	expect_refusal(text, read_plan(text).computed, &key, "its signature does not verify");
	free(forged);
	free(text);
	/* A pending plan whose status is changed to approved. */
	text = approved(DRAFT, &key, hash);
	forged = replaced(DRAFT, "PENDING_HASH", hash);
	free(text);
	text = replaced(forged, "STATUS: PENDING", "STATUS: APPROVED");
	expect_refusal(text, hash, &key, "it claims to be approved but has no signature");
	free(forged);
	/* With the signature of another plan, of another key, too short, too long. */
	(void)snprintf(line, sizeof line, "STATUS: APPROVED\nSIGNATURE: %.64s",
		       strstr(other, "SIGNATURE: ") + 11);
	forged = replaced(text, "STATUS: APPROVED", line);
	expect_refusal(forged, hash, &key, "its signature does not verify");
	free(forged);
	(void)snprintf(line, sizeof line, "STATUS: APPROVED\nSIGNATURE: abc");
	forged = replaced(text, "STATUS: APPROVED", line);
	expect_refusal(forged, hash, &key, "its signature does not verify");
	free(forged);
	free(text);
	text = approved(DRAFT, &other_key, hash);
	expect_refusal(text, hash, &key, "its signature does not verify");
	free(text);
	text = approved(DRAFT, &key, hash);
	(void)snprintf(line, sizeof line, "%.64sff", strstr(text, "SIGNATURE: ") + 11);
	{
		char signature[FW_SHA256_TEXT];

		(void)snprintf(signature, sizeof signature, "%.64s", line);
		forged = replaced(text, signature, line);
	}
	expect_refusal(forged, hash, &key, "its signature does not verify");
	free(forged);
	/* A valid plan under another name, and without a key to verify it. */
	expect_refusal(text, second, &key, "it is saved under a hash that is not its own");
	expect_refusal(text, hash, &(struct fw_ws_key){ .is_set = false },
		       "this server has no key to check its signature with");
	free(text);
	free(other);
}

static void test_plan__an_approval_is_valid_in_its_own_workspace_only(void **state)
{
	char hash[FW_SHA256_TEXT], unbound[FW_SHA256_TEXT], line[128];
	char *text = approved(DRAFT, &key, hash);
	struct fw_ws_plan plan = read_plan(text);
	char *old;

	(void)state;
	assert_null(fw_ws_plan_verify(&plan, hash, &key, "/w"));
	for (size_t i = 0; i < 4; i++) {
		static const char *const others[] = { "/v", "/w/w", "/", "" };

		assert_non_null(strstr(fw_ws_plan_verify(&plan, hash, &key, others[i]),
				       "approve it here"));
	}
	/* Signed by a version whose approvals were not bound to a workspace. */
	assert_true(fw_ws_key_sign(&key, FW_WS_SIGN_PLAN_UNBOUND, plan.computed, 64, unbound));
	(void)snprintf(line, sizeof line, "%.64s", strstr(text, "SIGNATURE: ") + 11);
	old = replaced(text, line, unbound);
	expect_refusal(old, hash, &key, "an older version approved it");
	free(old);
	free(text);
}

static void test_protect__files_that_run_automatically_are_refused_at_any_depth(void **state)
{
	static const char *const refused[] = { ".git/config",
					       "src/.git/hooks/post-checkout",
					       "src/deep/er/.git",
					       "src/.GIT/config",
					       "a/.Git",
					       "git~1/config",
					       ".faultwire/nonces/x",
					       "src/.faultwire-0.tmp",
					       "src/.envrc",
					       "src/.vscode/tasks.json",
					       "x/.idea/workspace.xml",
					       ".husky/pre-commit",
					       "x/.hg/hgrc",
					       ".devcontainer/devcontainer.json",
					       "docs/plans/x.md",
					       "DOCS/PLANS/x.md",
					       "audit-log.jsonl",
					       "Audit-Log.000001.jsonl" };
	static const char *const allowed[] = {
		"src/a.c",  ".gitignore", "src/.gitattributes", ".github/workflows/ci.yml",
		"git/a",    "x.git",      "Makefile",           "src/audit-log.txt",
		"docs/a.md"
	};

	(void)state;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (!fw_ws_is_protected_name(refused[i]))
			fail_msg("%s is not protected", refused[i]);
	for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++)
		if (fw_ws_is_protected_name(allowed[i]))
			fail_msg("%s is protected", allowed[i]);
}

static void test_protect__a_bare_repository_is_recognized_by_its_content(void **state)
{
	struct fw_root root = make_root();

	(void)state;
	shell("mkdir -p w/src/bare/objects w/src/bare/refs w/src/bare/hooks");
	assert_true(fw_ws_is_protected(&root, "src/bare/HEAD"));
	assert_true(fw_ws_is_protected(&root, "src/bare/head"));
	assert_false(fw_ws_is_protected(&root, "src/bare/config"));
	shell("echo 'ref: refs/heads/main' >w/src/bare/HEAD");
	assert_true(fw_ws_is_protected(&root, "src/bare/config"));
	assert_true(fw_ws_is_protected(&root, "src/bare/hooks/pre-receive"));
	assert_false(fw_ws_is_protected(&root, "src/a.txt"));
	fw_root_close(&root);
}

static void expect_no_plan(const char *text, const char *fault)
{
	struct fw_ws_plan plan;
	char got[FW_WS_FAULT_SIZE];

	assert_false(fw_ws_plan_read(text, strlen(text), &plan, got));
	assert_string_equal(got, fault);
}

static void test_plan__an_invalid_plan_is_reported_with_its_line(void **state)
{
	(void)state;
	expect_no_plan("", "line 1: plan does not begin with a line \"<!--\"");
	expect_no_plan("# Title\n", "line 1: plan does not begin with a line \"<!--\"");
	expect_no_plan("<!--\nROLE: ANTIGRAVITY\n",
		       "line 2: the header is not closed by a line \"-->\"");
	expect_no_plan("<!--\n" FIELDS "-->\n", "line 1: KAIZA_PLAN_HASH is missing");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: xyz\n" FIELDS "-->\n",
		       "line 1: KAIZA_PLAN_HASH is neither PENDING_HASH nor 64 digits");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nSTATUS: PENDING\n-->\n",
		       "line 1: ROLE is missing");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nROLE: WINDSURF\n-->\n",
		       "line 1: ROLE is not ANTIGRAVITY: that role writes plans");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: PENDING_HASH\n" FIELDS "SCOPE: x\n-->\n",
		       "line 6: SCOPE occurs twice");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: PENDING_HASH\n" FIELDS "STATUS: APPROVED\n-->\n",
		       "line 6: a field occurs twice");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nSCOPE: ../x\n-->\n",
		       "line 3: glob \"../x\" of SCOPE is wrong: it has a \".\" or \"..\" "
		       "component");
	expect_no_plan("<!--\nKAIZA_PLAN_HASH: PENDING_HASH\nSCOPE:\n-->\n",
		       "line 3: SCOPE is empty");
}

static bool match(const char *glob, const char *path)
{
	return fw_glob_match(glob, strlen(glob), path);
}

static void test_glob__matches_by_components(void **state)
{
	static const char stars[] = "*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
	char many[4000];

	(void)state;
	assert_true(match("src/**", "src/a.c"));
	assert_true(match("src/**", "src/a/b/c.c"));
	assert_true(match("src/", "src/a/b"));
	assert_false(match("src/**", "src"));
	assert_false(match("src/**", "srcx/a"));
	assert_false(match("src/*", "src/a/b"));
	assert_true(match("**/*.c", "a.c"));
	assert_true(match("**/*.c", "x/y/a.c"));
	assert_false(match("**/*.c", "x/y/a.h"));
	assert_true(match("a/**/z", "a/z"));
	assert_true(match("a/**/z", "a/b/c/z"));
	assert_false(match("a/**/z", "a/bz"));
	assert_true(match("**", "a/b/c"));
	assert_true(match("?.c", "\xc3\xa4.c"));
	assert_false(match("?", "/"));
	assert_true(match("[a-c]x[!0-9]", "bxy"));
	assert_false(match("[a-c]x[!0-9]", "bx1"));
	assert_true(match("[]x]", "]"));
	assert_false(match("SRC/*", "src/a"));
	assert_false(match("*.md", "docs/a.md"));
	assert_false(match("", "a"));
	assert_false(match("a[", "a["));
	/* Time is proportional to the length, whatever the number of stars. */
	memset(many, 'a', sizeof many - 1);
	many[sizeof many - 1] = '\0';
	assert_false(match(stars, many));
	assert_non_null(fw_glob_fault("/a", 2));
	assert_non_null(fw_glob_fault("a//b", 4));
	assert_non_null(fw_glob_fault("a/../b", 6));
	assert_non_null(fw_glob_fault("a**", 3));
	assert_null(fw_glob_fault("a..b/*", 6));
}

static void test_bootstrap__a_payload_is_valid_for_one_plan_in_one_workspace_until_it_expires(
	void **state)
{
	struct fw_ws_plan plan = read_plan(DRAFT);
	struct fw_ws_plan other = read_plan(DRAFT "More.\n");
	char signature[FW_SHA256_TEXT];
	char nonce[64];
	struct fw_buf payload;

#define JUDGE(key_, root_, plan_, now_)                                                       \
	fw_ws_bootstrap_verify(payload.text, payload.len, signature, strlen(signature), key_, \
			       root_, plan_, now_, nonce)
	(void)state;
	fw_buf_init(&payload, 4096);
	fw_ws_bootstrap_payload("/w", &plan, 1000, &payload);
	assert_true(fw_ws_key_sign(&key, FW_WS_SIGN_BOOTSTRAP, payload.text, payload.len,
				   signature));
	assert_null(JUDGE(&key, "/w", &plan, 999));
	assert_int_equal(strlen(nonce), 32);
	assert_string_equal(JUDGE(&key, "/w", &plan, 1000), "the payload has expired");
	assert_string_equal(JUDGE(&key, "/w", &plan, -90000),
			    "the payload is valid for more than a day");
	assert_string_equal(JUDGE(&key, "/v", &plan, 1),
			    "the payload is for another workspace");
	assert_string_equal(JUDGE(&key, "/w", &other, 1), "the payload is for another plan");
	assert_string_equal(JUDGE(&other_key, "/w", &plan, 1), "the signature does not verify");
	/* Signed for the purpose of a plan. */
	assert_true(
		fw_ws_key_sign(&key, FW_WS_SIGN_PLAN, payload.text, payload.len, signature));
	assert_string_equal(JUDGE(&key, "/w", &plan, 1), "the signature does not verify");
	signature[63] = '\0';
	assert_string_equal(JUDGE(&key, "/w", &plan, 1),
			    "the signature is not 64 hexadecimal digits");
	fw_buf_clear(&payload);
}

static void test_key__is_created_once_and_readable_by_its_owner_only(void **state)
{
	struct fw_ws_key first = { .is_set = false };
	struct fw_ws_key second = { .is_set = false };
	char path[128];
	struct stat st;

	(void)state;
	(void)snprintf(path, sizeof path, "%s/deep/er/plan.key", scratch);
	assert_code(fw_ws_key_load(path, false, &first), FW_FILE_NOT_FOUND);
	assert_null(fw_ws_key_load(path, true, &first));
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_null(fw_ws_key_load(path, true, &second));
	assert_memory_equal(first.bytes, second.bytes, FW_WS_KEY_BYTES);
	assert_int_equal(chmod(path, 0640), 0);
	assert_code(fw_ws_key_load(path, true, &second), FW_INPUT_INVALID_VALUE);
	assert_int_equal(chmod(path, 0600), 0);
	shell("echo short >deep/er/plan.key");
	assert_code(fw_ws_key_load(path, true, &second), FW_INPUT_INVALID_VALUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plan__the_hash_covers_all_but_hash_status_and_signature),
		cmocka_unit_test(test_plan__forged_approvals_are_detected),
		cmocka_unit_test(test_plan__an_approval_is_valid_in_its_own_workspace_only),
		cmocka_unit_test(
			test_protect__files_that_run_automatically_are_refused_at_any_depth),
		cmocka_unit_test(test_protect__a_bare_repository_is_recognized_by_its_content),
		cmocka_unit_test(test_plan__an_invalid_plan_is_reported_with_its_line),
		cmocka_unit_test(test_glob__matches_by_components),
		cmocka_unit_test(
			test_bootstrap__a_payload_is_valid_for_one_plan_in_one_workspace_until_it_expires),
		cmocka_unit_test(test_key__is_created_once_and_readable_by_its_owner_only),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
