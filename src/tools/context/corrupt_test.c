/*
 * corrupt_test.c - damages every file of a small cache in every way.
 *
 * The result is always cache.invalid, or exactly the bytes of the undamaged cache (if
 * the damage is to a time, a source or white space, which no rule covers); never
 * another result or another code.
 */
#include "tools/context/format.h"
#include "tools/context/test_support.h"

static struct fw_context_store *store;
static struct fw_buf good, now;
static size_t refused, alike;

static const char *const files[] = {
	"c/manifest.json",
	"c/index.json",
	"c/documents/ca978112ca1b.json",
	"c/documents/3e23e8160039.json",
	"c/documents/e3b0c44298fc.json",
};
enum { FILES = sizeof files / sizeof *files, DOCUMENTS_FROM = 2 };

static fw_error *ask(struct fw_buf *out)
{
	static const struct fw_context_request request = { "c", 1, "a", 1, 100, 1 << 20 };
	static const struct fw_context_run run = { .threads = 1 };

	fw_buf_reset(out, SIZE_MAX);
	return fw_context_scan(store, &request, &run, out);
}

static int start(void **state)
{
	fw_buf_init(&good, 1 << 20);
	fw_buf_init(&now, 1 << 20);
	refused = alike = 0;
	if (enter_directory(state) || mkdir("s", 0777) || fw_context_store_new(".", &store))
		return -1;
	put_text("s/a.md", "a");
	put_text("s/b.md", "b");
	put_text("s/empty.md", "");
	must(build("s", "c", false, 1));
	must(ask(&good));
	return 0;
}

static int stop(void **state)
{
	fw_context_store_free(store);
	fw_buf_clear(&good);
	fw_buf_clear(&now);
	return leave_directory(state);
}

/* Checks the result after damage `what` to `file`, at `place`. */
static void judge(const char *file, const char *what, size_t place)
{
	fw_error *err = ask(&now);

	if (err) {
		if (fw_error_code(err) != FW_CACHE_INVALID)
			fail_msg("%s %s %zu: %s", file, what, place, fw_error_name(err));
		refused++;
	} else {
		if (now.len != good.len || memcmp(now.text, good.text, good.len) != 0)
			fail_msg("%s %s %zu: another result", file, what, place);
		alike++;
	}
	fw_error_free(err);
}

static void must_refuse(const char *what)
{
	struct fw_context_facts facts;
	fw_error *err = ask(&now);

	if (fw_error_code(err) != FW_CACHE_INVALID)
		fail_msg("%s: %s", what, err ? fw_error_name(err) : "taken");
	fw_error_free(err);
	assert_string_equal(code_of(fw_context_verify(store, "c", 1, NULL, NULL, NULL, &facts)),
			    "cache_invalid");
}

static void test_corrupt__every_bit_flipped(void **state)
{
	(void)state;
	for (size_t f = 0; f < FILES; f++) {
		size_t len;
		char *text = get_file(files[f], &len);

		for (size_t bit = 0; bit < 8 * len; bit++) {
			text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
			put_file(files[f], text, len);
			judge(files[f], "bit", bit);
			text[bit / 8] = (char)(text[bit / 8] ^ 1 << bit % 8);
		}
		put_file(files[f], text, len);
		free(text);
	}
	must(ask(&now));
	print_message("# %zu flips refused, %zu without effect\n", refused, alike);
	assert_true(refused > 20 * alike);
}

static void test_corrupt__every_file_cut_at_every_length_or_longer(void **state)
{
	(void)state;
	for (size_t f = 0; f < FILES; f++) {
		size_t len;
		char *text = get_file(files[f], &len);

		for (size_t cut = 0; cut < len; cut++) {
			put_file(files[f], text, cut);
			must_refuse(files[f]);
		}
		text[len] = '}';
		put_file(files[f], text, len + 1);
		must_refuse(files[f]);
		text[len] = '\0';
		put_file(files[f], text, len + 1);
		must_refuse(files[f]);
		put_file(files[f], text, len);
		free(text);
	}
	must(ask(&now));
}

static void test_corrupt__every_byte_removed_or_doubled(void **state)
{
	(void)state;
	for (size_t f = 0; f < FILES; f++) {
		size_t len;
		char *text = get_file(files[f], &len);
		char *other = malloc(len + 2);

		assert_non_null(other);
		for (size_t at = 0; at < len; at++) {
			memcpy(other, text, at);
			memcpy(other + at, text + at + 1, len - at - 1);
			put_file(files[f], other, len - 1);
			judge(files[f], "removed", at);
			memcpy(other, text, at + 1);
			memcpy(other + at + 1, text + at, len - at);
			put_file(files[f], other, len + 1);
			judge(files[f], "doubled", at);
		}
		put_file(files[f], text, len);
		free(other);
		free(text);
	}
	must(ask(&now));
	print_message("# %zu refused, %zu without effect\n", refused, alike);
}

/* Replaces each file by nothing, a directory, a link, a FIFO, an empty file. */
static void test_corrupt__every_file_removed_or_something_else(void **state)
{
	(void)state;
	for (size_t f = 0; f < FILES; f++) {
		assert_int_equal(rename(files[f], "aside"), 0);
		must_refuse("removed");
		assert_int_equal(mkdir(files[f], 0777), 0);
		must_refuse("a folder");
		assert_int_equal(rmdir(files[f]), 0);
		assert_int_equal(symlink("/proc/self/cwd/aside", files[f]), 0);
		must_refuse("a link to the file itself");
		assert_int_equal(unlink(files[f]), 0);
		assert_int_equal(mkfifo(files[f], 0666), 0);
		must_refuse("a FIFO");
		assert_int_equal(unlink(files[f]), 0);
		assert_int_equal(rename("aside", files[f]), 0);
	}
	assert_int_equal(rename("c/documents", "aside"), 0);
	must_refuse("no documents");
	put_text("c/documents", "");
	must_refuse("a file for documents");
	assert_int_equal(unlink("c/documents"), 0);
	assert_int_equal(symlink("../aside", "c/documents"), 0);
	must_refuse("a link for documents");
	assert_int_equal(unlink("c/documents"), 0);
	assert_int_equal(rename("aside", "c/documents"), 0);
	must(ask(&now));
}

static void test_corrupt__something_added(void **state)
{
	static const char *const names[] = {
		"x", ".hidden", "000000000000.json", "a.md", "ca978112ca1b.json~", "\xff"
	};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		(void)snprintf(path, sizeof path, "c/documents/%s", names[i]);
		put_text(path, "");
		must_refuse(path);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(mkdir(path, 0777), 0);
		must_refuse(path);
		assert_int_equal(rmdir(path), 0);
	}
	/* Next to the directory of documents: no rule forbids it. */
	put_text("c/README", "");
	must(ask(&now));
	assert_string_equal(now.text, good.text);
}

static void test_corrupt__any_two_files_swapped(void **state)
{
	(void)state;
	for (size_t a = 0; a < FILES; a++) {
		for (size_t b = a + 1; b < FILES; b++) {
			for (int way = 0; way < 2; way++) {
				assert_int_equal(rename(files[a], "aside"), 0);
				assert_int_equal(rename(files[b], files[a]), 0);
				assert_int_equal(rename("aside", files[b]), 0);
				if (way == 0)
					must_refuse("swapped");
			}
		}
	}
	must(ask(&now));
}

/* Manifest and index agree with each other, but are wrong. */
static void test_corrupt__wrong_order_version_and_count(void **state)
{
	static const struct {
		const char *what, *command;
	} cases[] = {
		{ "the manifest in another order",
		  "sed -i 's/\"a.md\"/\"z.md\"/' c/manifest.json" },
		{ "both in another order",
		  "sed -i 's/\"a.md\"/\"z.md\"/' c/*.json c/*/*.json" },
		{ "another build_config.version",
		  "sed -i 's/\"version\": \"1\"/\"version\": \"2\"/' c/manifest.json" },
		{ "another cache_version",
		  "sed -i 's/\"sha256:[0-9a-f]/\"sha256:x/' c/manifest.json" },
		{ "another count",
		  "sed -i 's/\"document_count\": 3/\"document_count\": 2/' c/manifest.json" },
		{ "one document less everywhere", "sed -i '/empty.md/d' c/index.json" },
	};

	(void)state;
	shell("cp -a c kept");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		shell(cases[i].command);
		must_refuse(cases[i].what);
		shell("rm -r c && cp -a kept c");
	}
	must(ask(&now));
}

/* ---- verify reports every violation ---- */

static void note(void *ctx, const struct fw_context_violation *violation)
{
	struct fw_buf *out = ctx;

	fw_buf_str(out, violation->invariant_name);
	FW_BUF(out, " ");
	fw_buf_str(out, violation->rule);
	FW_BUF(out, " ");
	fw_buf_str(out, violation->what ? violation->what : "-");
	FW_BUF(out, "\n");
	assert_true(violation->text[0] != '\0');
}

static void test_verify__names_every_violation_in_order(void **state)
{
	struct fw_context_facts facts;
	struct fw_buf notes;

	(void)state;
	fw_buf_init(&notes, 4096);
	/* Only the hash in the manifest is wrong. */
	shell("sed -i '2s/sha256:[0-9a-f]\\{4\\}/sha256:0000/' c/manifest.json");
	put_text("c/index.json", "{");
	put_text("c/documents/z", "");
	put_text("c/documents/more", "");
	assert_int_equal(unlink(files[2]), 0);
	shell("sed -i 's/\"b\"/\"B\"/' c/documents/3e23e8160039.json");
	put_text(files[4], "");
	must(fw_context_verify(store, "c", 1, NULL, note, &notes, &facts));
	assert_false(facts.valid);
	assert_int_equal(facts.document_count, 3);
	assert_string_equal(notes.text, "version cache_version_mismatch -\n"
					"consistency index_malformed -\n"
					"consistency orphan_file more\n"
					"consistency orphan_file z\n"
					"presence document_missing a.md\n"
					"integrity document_hash_mismatch b.md\n"
					"integrity document_malformed empty.md\n");
	fw_buf_clear(&notes);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_corrupt__every_bit_flipped),
		TEST(test_corrupt__every_file_cut_at_every_length_or_longer),
		TEST(test_corrupt__every_byte_removed_or_doubled),
		TEST(test_corrupt__every_file_removed_or_something_else),
		TEST(test_corrupt__something_added),
		TEST(test_corrupt__any_two_files_swapped),
		TEST(test_corrupt__wrong_order_version_and_count),
		TEST(test_verify__names_every_violation_in_order),
	};

	return cmocka_run_group_tests_name("context_corrupt", tests, NULL, NULL);
}
