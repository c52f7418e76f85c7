/*
 * journal_test.c - parts of the engine's replies, which may be anything, the words of
 * commands, and an engine that fails and forgets. Replicas with a real one are in
 * test/wire/fleet_streams.mjs.
 */
#include "fleet/engine_fake.h"
#include "mcp/exchange_fake.h"

#include "fleet/journal_impl.h"
#include "mcp/session.h"

static redisReply text_of(char *bytes, size_t len)
{
	return (redisReply){ .type = REDIS_REPLY_STRING, .str = bytes, .len = len };
}

static redisReply text(char *bytes)
{
	return text_of(bytes, strlen(bytes));
}

static void test_journal__a_number_is_read_up_to_the_first_other_character(void **state)
{
	static const struct {
		const char *text;
		bool is_number;
		uint64_t number;
	} cases[] = {
		{ "0", true, 0 },
		{ "12-0", true, 12 },
		{ "999999999999999999", true, 999999999999999999U },
		{ "1000000000000000000", false, 0 },
		{ "", false, 0 },
		{ "-1", false, 0 },
		{ "x1", false, 0 },
	};
	redisReply other = { .type = REDIS_REPLY_INTEGER, .integer = 1 };
	uint64_t number = 0;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char bytes[32];
		redisReply reply;

		memcpy(bytes, cases[i].text, strlen(cases[i].text) + 1);
		reply = text(bytes);
		assert_int_equal(fw_journal_read_number(&reply, &number), cases[i].is_number);
		if (cases[i].is_number)
			assert_int_equal(number, cases[i].number);
	}
	assert_false(fw_journal_read_number(&other, &number));
	assert_false(fw_journal_read_number(NULL, &number));
}

static void test_journal__a_change_is_of_a_known_kind_and_only_a_resource_has_a_uri(
	void **state)
{
	static const struct {
		const char kind[3], *uri;
		size_t kind_len, uri_len;
		int change; /* -1: not one */
	} cases[] = {
		{ "t", "", 1, 0, FW_CHANGE_TOOLS },
		{ "p", "", 1, 0, FW_CHANGE_PROMPTS },
		{ "r", "", 1, 0, FW_CHANGE_RESOURCES },
		{ "u", "file:///a", 1, 9, FW_CHANGE_RESOURCE },
		{ "u", "", 1, 0, -1 },
		{ "t", "file:///a", 1, 9, -1 },
		{ "x", "", 1, 0, -1 },
		{ "tp", "", 2, 0, -1 },
		{ "", "", 0, 0, -1 },
		{ "", "", 1, 0, -1 }, /* a NUL */
		{ "u", "a\0b", 1, 3, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char kind_bytes[3], uri_bytes[16] = "";
		redisReply kind = text_of(kind_bytes, cases[i].kind_len);
		redisReply uri = text_of(uri_bytes, cases[i].uri_len);
		enum fw_change change = FW_CHANGE_TOOLS;
		bool is_change;

		memcpy(kind_bytes, cases[i].kind, sizeof kind_bytes);
		memcpy(uri_bytes, cases[i].uri, cases[i].uri_len);
		is_change = fw_journal_read_change(&kind, &uri, &change);
		assert_int_equal(is_change, cases[i].change >= 0);
		if (is_change)
			assert_int_equal(change, cases[i].change);
	}
}

static void test_words__texts_numbers_and_keys_are_in_order(void **state)
{
	static const char *const expected[] = { "SET", "faultwire:f:alive:me", "PX", "1",
						"0",   "18446744073709551615" };
	struct fw_words words;

	(void)state;
	fw_words_clear(&words);
	fw_words_text(&words, "SET");
	fw_words_key(&words, "f", "alive:", "me");
	FW_WORDS_TEXTS(&words, "PX", "1");
	fw_words_number(&words, 0);
	fw_words_number(&words, UINT64_MAX);
	assert_int_equal(words.count, sizeof expected / sizeof *expected);
	for (size_t i = 0; i < words.count; i++) {
		assert_int_equal(words.list[i].len, strlen(expected[i]));
		assert_memory_equal(words.list[i].text, expected[i], words.list[i].len);
	}
}

/* ---- with an engine ------------------------------------------------------------------------ */

static struct fw_journal *journal;

static fw_error *make(void)
{
	const struct fw_journal_options options = { .server = server, .fleet = "f" };

	FW_TRY(fw_journal_new(&options, &journal));
	fw_journal_set_engine(journal, &fake_engine.first);
	return NULL;
}

static void unmake(void)
{
	fw_journal_close(journal);
	fw_journal_free(journal);
	journal = NULL;
}

/* It has come up: where news begin, then that this replica is there. */
static void come_up(void)
{
	fake_engine.first.is_up = fake_engine.second.is_up = true;
	fw_journal_changed(journal, true);
}

static int setup(void **state)
{
	(void)state;
	fake_engine_begin();
	fake_server_begin();
	assert_null(make());
	come_up();
	assert_string_equal(fake_engine_next(), "faultwire:f:changes faultwire:f:notices");
	assert_false(fw_journal_is_sharing(journal));
	fake_engine_json("[\"5-0\",\"6-1\",1000]");
	assert_true(fw_journal_is_sharing(journal));
	assert_int_equal(fw_journal_newest(journal), 1000);
	assert_memory_equal(fake_engine_next(), "SET faultwire:f:alive:", 22);
	fake_engine_answer(NULL);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unmake();
	fake_server_end();
	return 0;
}

#define XREAD(at) \
	"XREAD COUNT 512 BLOCK 1000 STREAMS faultwire:f:changes faultwire:f:notices " at

static void test_journal__news_go_on_after_the_last_that_was_heard(void **state)
{
	(void)state;
	assert_string_equal(fake_engine_next(), XREAD("5-0 6-1"));
	fake_engine_json("[[\"faultwire:f:changes\",[[\"2000-0\",[\"kind\",\"t\",\"uri\","
			 "\"\"]],[\"2001-0\",[\"kind\",\"?\",\"uri\",\"\"]]]],"
			 "[\"faultwire:f:notices\",[[\"7-0\",[\"stream\",\"no name\"]]]],"
			 "[\"other\",[[\"9-0\",[]]]]]");
	assert_int_equal(fw_journal_counted(journal, FW_JOURNAL_HEARD), 1);
	assert_int_equal(fw_journal_newest(journal), 2000);
	assert_string_equal(fake_engine_next(), XREAD("2001-0 7-0"));
	/* Nothing new, and replies that are none. */
	fake_engine_json("null");
	assert_string_equal(fake_engine_next(), XREAD("2001-0 7-0"));
	fake_engine_json("[[\"faultwire:f:changes\",[[\"x y\",[\"kind\",\"t\",\"uri\",\"\"]],1,"
			 "[],[2]]],[],7]");
	assert_string_equal(fake_engine_next(), XREAD("2001-0 7-0"));
	/* An error is not asked about again at once. */
	fake_engine_fail(false);
	assert_string_equal(fake_engine_next(), "");
	fw_journal_beat(journal);
	assert_string_equal(fake_engine_next(), XREAD("2001-0 7-0"));
}

/* Answers what is not an announcement; then the next command is one, or none. */
static const char *next_announcement(void)
{
	while (fake_engine_next()[0] &&
	       strncmp(fake_engine_next(), "faultwire:f:changes", 19) != 0)
		fake_engine_answer(NULL);
	return fake_engine_next();
}

static void test_journal__a_change_is_announced_until_the_engine_has_it(void **state)
{
	(void)state;
	assert_true(fw_journal_announce(journal, FW_CHANGE_RESOURCE, "file:///a"));
	assert_non_null(strstr(next_announcement(), " u file:///a 256 "));
	fake_engine_fail(false);
	fw_journal_beat(journal);
	assert_non_null(strstr(next_announcement(), " u file:///a 256 "));
	fake_engine_lose();
	/* While it is away: each once. */
	assert_false(fw_journal_announce(journal, FW_CHANGE_TOOLS, NULL));
	assert_false(fw_journal_announce(journal, FW_CHANGE_TOOLS, NULL));
	assert_false(fw_journal_announce(journal, FW_CHANGE_RESOURCE, "file:///a"));
	come_up();
	assert_non_null(strstr(next_announcement(), " t  256 "));
	fake_engine_json("[2000]");
	assert_non_null(strstr(next_announcement(), " u file:///a 256 "));
	fake_engine_json("[2001]");
	assert_string_equal(next_announcement(), "");
	fw_journal_beat(journal);
	assert_string_equal(next_announcement(), "");
	assert_int_equal(fw_journal_counted(journal, FW_JOURNAL_ANNOUNCED), 2);
}

static void test_journal__more_changes_than_are_kept_are_not_announced_later(void **state)
{
	char uri[32];

	(void)state;
	fake_engine_lose();
	for (int i = 0; i < FW_LIMIT_FLEET_LATE_URIS + 5; i++) {
		(void)snprintf(uri, sizeof uri, "file:///%d", i);
		assert_false(fw_journal_announce(journal, FW_CHANGE_RESOURCE, uri));
	}
	assert_int_equal(journal->late_count, FW_LIMIT_FLEET_LATE_URIS);
}

static void test_journal__events_are_counted_as_kept_or_lost(void **state)
{
	struct fw_session session = { .shared = { .digest = "d" } };
	const struct fw_stream stream = { .session = &session, .number = 3, .last = 9 };
	char large[FW_LIMIT_FLEET_EVENT_BYTES + 1];

	(void)state;
	fake_engine_answer(NULL); /* news */
	assert_true(fw_journal_keep(journal, &stream, "{}", 2, true));
	assert_memory_equal(fake_engine_next(), "faultwire:f:events:d:3 ", 23);
	assert_non_null(strstr(fake_engine_next(), " d:3 9 {} 1 "));
	fake_engine_json("[9]");
	assert_true(fw_journal_keep(journal, &stream, "{}", 2, false));
	fake_engine_json("[0]");
	assert_int_equal(fw_journal_counted(journal, FW_JOURNAL_KEPT), 1);
	assert_int_equal(fw_journal_counted(journal, FW_JOURNAL_LOST), 1);
	/* Of an answer that is too large, it is kept that there was one. */
	memset(large, ' ', sizeof large);
	assert_false(fw_journal_keep(journal, &stream, large, sizeof large, false));
	assert_true(fw_journal_keep(journal, &stream, large, sizeof large, true));
	assert_non_null(strstr(fake_engine_next(), " d:3 9  1 "));
	fake_engine_lose();
	assert_false(fw_journal_keep(journal, &stream, "{}", 2, false));
	assert_int_equal(fw_journal_counted(journal, FW_JOURNAL_LOST), 3);
}

static void use(void)
{
	struct fw_session session = { .shared = { .digest = "d" } };
	const struct fw_stream stream = { .session = &session, .number = 3, .last = 9 };
	fw_error *err;

	fake_engine_begin();
	err = make();
	if (!err) {
		come_up();
		if (strncmp(fake_engine_next(), "faultwire:f:changes", 19) == 0)
			fake_engine_json("[\"5-0\",\"6-1\",1000]");
		(void)fw_journal_begin(journal, &stream, "1", 1);
		(void)fw_journal_keep(journal, &stream, "{}", 2, true);
		(void)fw_journal_announce(journal, FW_CHANGE_RESOURCE, "file:///a");
		fw_journal_notice(journal, "d");
		fake_engine_lose();
		come_up();
	}
	fw_error_free(err);
	unmake();
}

static void test_journal__each_allocation_may_fail(void **state)
{
	(void)state;
	unmake();
	each_allocation_fails(use);
	fake_engine_begin();
	assert_null(make());
}

#define WITH_ENGINE(name) cmocka_unit_test_setup_teardown(test_journal__##name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_journal__a_number_is_read_up_to_the_first_other_character),
		cmocka_unit_test(
			test_journal__a_change_is_of_a_known_kind_and_only_a_resource_has_a_uri),
		cmocka_unit_test(test_words__texts_numbers_and_keys_are_in_order),
		WITH_ENGINE(news_go_on_after_the_last_that_was_heard),
		WITH_ENGINE(a_change_is_announced_until_the_engine_has_it),
		WITH_ENGINE(more_changes_than_are_kept_are_not_announced_later),
		WITH_ENGINE(events_are_counted_as_kept_or_lost),
		WITH_ENGINE(each_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
