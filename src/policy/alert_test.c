/*
 * The rules of alerting, for every code, and compared with a model that keeps all
 * events.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include <faultwire/faultwire.h>

#include "base/limits.h"
#include "policy/alert.h"
#include "test/memory.h"

enum { MINUTES_5 = 300000 };

static struct fw_alerts *alerts;
static unsigned fired, ended;
static char last_client[FW_LIMIT_ALERT_CLIENT_BYTES + 1];
static struct fw_alert last;

static void changed(void *ctx, const struct fw_alert *alert)
{
	(void)ctx;
	*(alert->is_firing ? &fired : &ended) += 1;
	last = *alert;
	(void)snprintf(last_client, sizeof last_client, "%s", alert->client);
}

static int begin(void **state)
{
	(void)state;
	fired = ended = 0;
	return fw_alerts_new(changed, NULL, &alerts) != NULL;
}

static int end(void **state)
{
	(void)state;
	fw_alerts_free(alerts);
	return 0;
}

static void start_over(void)
{
	(void)end(NULL);
	assert_int_equal(begin(NULL), 0);
}

static const fw_row *row_of(const char *code)
{
	const fw_row *row = fw_registry_find(NULL, code);

	assert_non_null(row);
	return row;
}

static void note(const fw_row *row, const char *client, int64_t now_ms)
{
	fw_alerts_note(alerts, row, client, "inc_1", now_ms);
}

/* ---- for each code ---- */

static void test_alert__each_critical_code_fires_at_once(void **state)
{
	const fw_row *row;
	unsigned codes = 0;

	(void)state;
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		if (row->severity != FW_CRITICAL)
			continue;
		start_over();
		note(row, "a", 1000);
		assert_int_equal(fired, 1);
		assert_ptr_equal(last.row, row);
		assert_int_equal(last.events, 1);
		assert_int_equal(last.since_ms, 1000);
		codes++;
	}
	assert_true(codes > 5);
}

static void test_alert__each_warning_code_fires_on_the_sixth_and_not_the_fifth(void **state)
{
	const fw_row *row;
	unsigned codes = 0;

	(void)state;
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		if (row->severity != FW_WARNING)
			continue;
		start_over();
		/* Events of another client are counted separately. */
		for (int event = 0; event < 5; event++) {
			note(row, "a", event);
			note(row, "b", event);
		}
		assert_int_equal(fired, 0);
		note(row, "a", MINUTES_5 - 1);
		assert_int_equal(fired, 1);
		assert_string_equal(last_client, "a");
		assert_int_equal(last.events, 6);
		note(row, "b", MINUTES_5 - 1);
		assert_int_equal(fired, 2);
		assert_string_equal(last_client, "b");
		codes++;
	}
	assert_true(codes > 50);
}

static void test_alert__the_sixth_at_exactly_five_minutes_does_not_fire(void **state)
{
	const fw_row *row;

	(void)state;
	for (size_t i = 0; (row = fw_registry_at(NULL, i)); i++) {
		if (row->severity != FW_WARNING)
			continue;
		start_over();
		for (int event = 0; event < 5; event++)
			note(row, "a", 7);
		note(row, "a", 7 + MINUTES_5);
		assert_int_equal(fired, 0);
		start_over();
		for (int event = 0; event < 5; event++)
			note(row, "a", 7);
		note(row, "a", 7 + MINUTES_5 - 1);
		assert_int_equal(fired, 1);
	}
}

/* ---- firing and over ---- */

static void test_alert__is_reported_once_when_it_fires_and_once_when_it_ends(void **state)
{
	const fw_row *row = row_of("auth.unauthorized");

	(void)state;
	for (int event = 0; event < 100; event++)
		note(row, "a", event * 1000);
	assert_int_equal(fired, 1);
	assert_int_equal(fw_alerts_firing(alerts), 1);
	/* The next check is when the first event leaves the window, which may be
	 * too early. */
	fw_alerts_advance(alerts, 99000 + MINUTES_5 - 1);
	assert_int_equal(ended, 0);
	assert_int_equal(fw_alerts_next(alerts), 99000 + MINUTES_5);
	fw_alerts_advance(alerts, 99000 + MINUTES_5);
	assert_int_equal(ended, 1);
	assert_int_equal(last.over_ms, 99000 + MINUTES_5);
	assert_int_equal(last.events, 100);
	assert_int_equal(fw_alerts_firing(alerts), 0);
	assert_true(fw_alerts_next(alerts) == INT64_MAX);
	fw_alerts_advance(alerts, INT64_MAX);
	assert_int_equal(ended, 1);
	note(row, "a", 99000 + 2 * MINUTES_5);
	assert_int_equal(fired, 2);
}

static void test_alert__of_warnings_ends_when_five_are_left_in_the_window(void **state)
{
	const fw_row *row = row_of("file.not_found");

	(void)state;
	for (int event = 0; event < 6; event++)
		note(row, "a", event * 10000);
	assert_int_equal(fired, 1);
	fw_alerts_advance(alerts, MINUTES_5 - 1);
	assert_int_equal(ended, 0);
	fw_alerts_advance(alerts, MINUTES_5);
	assert_int_equal(ended, 1);
	/* One more event makes six again. */
	note(row, "a", MINUTES_5 + 1);
	assert_int_equal(fired, 2);
}

/* If the time was not advanced in between, the end is reported before the new alert. */
static void test_alert__that_ended_unnoticed_is_reported_before_it_fires_again(void **state)
{
	const fw_row *row = row_of("auth.unauthorized");

	(void)state;
	note(row, "a", 0);
	note(row, "a", MINUTES_5);
	assert_int_equal(fired, 2);
	assert_int_equal(ended, 1);
}

static void count_firing(void *ctx, const struct fw_alert *alert)
{
	assert_true(alert->is_firing);
	++*(unsigned *)ctx;
}

static void test_alert__firing_alerts_can_be_listed(void **state)
{
	unsigned count = 0;

	(void)state;
	note(row_of("auth.unauthorized"), "a", 0);
	note(row_of("auth.unauthorized"), NULL, 0);
	assert_string_equal(last_client, "unnamed");
	note(row_of("internal.unexpected"), "a", 0);
	note(row_of("file.not_found"), "a", 0);
	fw_alerts_each(alerts, count_firing, &count);
	assert_int_equal(count, 3);
}

/* ---- many client names ---- */

static void note_named(const fw_row *row, int number, int64_t now_ms)
{
	char name[16];

	(void)snprintf(name, sizeof name, "c%d", number);
	note(row, name, now_ms);
}

static void test_alert__clients_past_the_limit_count_together(void **state)
{
	const fw_row *row = row_of("file.not_found");

	(void)state;
	for (int i = 0; i < FW_LIMIT_ALERT_CLIENTS; i++)
		note_named(row, i, 0);
	for (int i = 0; i < 5; i++)
		note_named(row, 1000 + i, 1);
	assert_int_equal(fired, 0);
	note_named(row, 1005, 2);
	assert_int_equal(fired, 1);
	assert_string_equal(last_client, "other");
}

static void test_alert__an_idle_client_is_evicted(void **state)
{
	const fw_row *row = row_of("auth.unauthorized");

	(void)state;
	for (int i = 0; i < FW_LIMIT_ALERT_CLIENTS; i++)
		note_named(row, i, i);
	note(row, "late", MINUTES_5 - 1);
	assert_string_equal(last_client, "other");
	note(row, "later", MINUTES_5);
	assert_string_equal(last_client, "later");
	assert_int_equal(ended, 1);
	fw_alerts_advance(alerts, 3 * MINUTES_5);
	assert_int_equal(fired, ended);
}

static void test_alert__a_long_name_is_cut_between_characters(void **state)
{
	char name[200];

	(void)state;
	memset(name, 'x', sizeof name);
	memcpy(name + FW_LIMIT_ALERT_CLIENT_BYTES - 1, "\xC3\xA9", 2);
	name[sizeof name - 1] = '\0';
	note(row_of("auth.unauthorized"), name, 0);
	assert_int_equal(strlen(last_client), FW_LIMIT_ALERT_CLIENT_BYTES - 1);
	note(row_of("auth.unauthorized"), name, 1);
	assert_int_equal(fired, 1);
}

/* ---- against a model ---- */

enum { MODEL_CLIENTS = 3, MODEL_ROWS = 2, MODEL_EVENTS = 4000 };

struct model {
	int64_t times[MODEL_EVENTS];
	size_t count;
	bool is_firing;
	bool said; /* the last state reported */
};

static struct model models[MODEL_CLIENTS][MODEL_ROWS];
static const fw_row *model_rows[MODEL_ROWS];

static void model_changed(void *ctx, const struct fw_alert *alert)
{
	struct model *model = &models[alert->client[0] - 'a'][alert->row == model_rows[1]];

	(void)ctx;
	assert_int_not_equal(model->said, alert->is_firing);
	model->said = alert->is_firing;
}

static bool model_fires(const struct model *model, const fw_row *row, int64_t now_ms)
{
	size_t in_window = 0;

	for (size_t i = 0; i < model->count; i++)
		in_window += now_ms - model->times[i] < MINUTES_5;
	return in_window > (row->severity == FW_CRITICAL ? 0u : 5u);
}

static void check_models(int64_t now_ms)
{
	for (int c = 0; c < MODEL_CLIENTS; c++)
		for (int r = 0; r < MODEL_ROWS; r++)
			assert_int_equal(models[c][r].said,
					 model_fires(&models[c][r], model_rows[r], now_ms));
}

static void test_alert__agrees_with_a_model_that_keeps_everything(void **state)
{
	uint64_t seed = 0x9E3779B97F4A7C15u;
	int64_t now_ms = 0;

	(void)state;
	fw_alerts_free(alerts);
	assert_null(fw_alerts_new(model_changed, NULL, &alerts));
	model_rows[0] = row_of("file.not_found");
	model_rows[1] = row_of("auth.unauthorized");
	memset(models, 0, sizeof models);
	for (int i = 0; i < MODEL_EVENTS; i++) {
		static const int64_t steps[] = {
			0, 1, 1000, 49999, 50000, 60000, 150000, 300000
		};
		struct model *model;
		char name[2] = "a";
		int client, row;

		seed ^= seed << 13;
		seed ^= seed >> 7;
		seed ^= seed << 17;
		now_ms += steps[seed % 8];
		client = (int)(seed >> 8) % MODEL_CLIENTS;
		client = client < 0 ? -client : client;
		row = (seed >> 20) % 5 == 0;
		name[0] = (char)('a' + client);
		fw_alerts_advance(alerts, now_ms);
		check_models(now_ms);
		model = &models[client][row];
		model->times[model->count++] = now_ms;
		note(model_rows[row], name, now_ms);
		check_models(now_ms);
	}
}

/* ---- memory ---- */

static void alert_without_memory(void)
{
	struct fw_alerts *own = NULL;
	fw_error *err = fw_alerts_new(changed, NULL, &own);

	assert_true(!err == !!own);
	if (own) {
		fw_alerts_note(own, row_of("auth.unauthorized"), "a", NULL, 0);
		fw_alerts_note(own, row_of("internal.unexpected"), "b", NULL, 0);
		fw_alerts_note(own, row_of("internal.unexpected"), "b", NULL, 1);
	}
	fw_error_free(err);
	fw_alerts_free(own);
}

static void test_alert__survives_every_allocation_failure(void **state)
{
	(void)state;
	each_allocation_fails(alert_without_memory);
}

#define WITH_ALERTS(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_ALERTS(test_alert__each_critical_code_fires_at_once),
		WITH_ALERTS(test_alert__each_warning_code_fires_on_the_sixth_and_not_the_fifth),
		WITH_ALERTS(test_alert__the_sixth_at_exactly_five_minutes_does_not_fire),
		WITH_ALERTS(test_alert__is_reported_once_when_it_fires_and_once_when_it_ends),
		WITH_ALERTS(test_alert__of_warnings_ends_when_five_are_left_in_the_window),
		WITH_ALERTS(test_alert__that_ended_unnoticed_is_reported_before_it_fires_again),
		WITH_ALERTS(test_alert__firing_alerts_can_be_listed),
		WITH_ALERTS(test_alert__clients_past_the_limit_count_together),
		WITH_ALERTS(test_alert__an_idle_client_is_evicted),
		WITH_ALERTS(test_alert__a_long_name_is_cut_between_characters),
		WITH_ALERTS(test_alert__agrees_with_a_model_that_keeps_everything),
		WITH_ALERTS(test_alert__survives_every_allocation_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
