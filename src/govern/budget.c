/*
 * budget.c - see budget.h. Rows of the kind "budget"; the number is what was handed out.
 */
#include "govern/budget.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/digest.h"
#include "base/limits.h"

static const char KIND[] = "budget";

enum { ATTEMPTS = 8, NAME_MAX_LEN = 300, DAY_MS = 24 * 3600 * 1000, SWEPT = 8 };

/* Rows are kept for a while after their end, for operators. */
static const int64_t KEPT_MS = (int64_t)62 * DAY_MS;

const char *fw_budget_period_name(enum fw_period period)
{
	return period == FW_PERIOD_DAY ? "day" : "month";
}

void fw_budget_window_at(enum fw_period period, int64_t now_ms,
			 struct fw_budget_window *ret_window)
{
	time_t now = (time_t)(now_ms / 1000);
	struct tm at = { 0 };

	(void)gmtime_r(&now, &at);
	(void)strftime(ret_window->name, sizeof ret_window->name,
		       period == FW_PERIOD_DAY ? "%Y-%m-%d" : "%Y-%m", &at);
	at.tm_hour = at.tm_min = at.tm_sec = 0;
	if (period == FW_PERIOD_DAY) {
		at.tm_mday++;
	} else {
		at.tm_mday = 1;
		at.tm_mon++;
	}
	ret_window->ends_ms = (int64_t)timegm(&at) * 1000;
}

/* A name that is too long for a key is replaced by its digest. */
static void make_key(const char *client, enum fw_period period, const char *window,
		     char ret_key[FW_LIMIT_STORE_KEY_BYTES])
{
	char digest[FW_SHA256_TEXT];
	size_t len = strlen(client);

	if (len > NAME_MAX_LEN) {
		fw_sha256_text(client, len, digest);
		client = digest;
	}
	(void)snprintf(ret_key, FW_LIMIT_STORE_KEY_BYTES, "%s/%s/%s",
		       fw_budget_period_name(period), window, client);
}

fw_error *fw_budget_reserve(struct fw_store *store, const char *client, enum fw_period period,
			    int64_t now_ms, int64_t limit, int64_t want,
			    struct fw_budget_part *ret_part)
{
	struct fw_budget_part part = { .amount = 0 };
	char key[FW_LIMIT_STORE_KEY_BYTES];
	struct fw_store_change change = { .action = FW_STORE_ADD,
					  .kind = KIND,
					  .key = key,
					  .is_limited = true,
					  .max = limit };
	size_t swept;

	fw_budget_window_at(period, now_ms, &part.window);
	make_key(client, period, part.window.name, key);
	change.expires_ms = part.window.ends_ms + KEPT_MS;
	change.number = want;
	/* Others may reserve between two attempts: each asks for what was left. */
	for (int i = 0; i < ATTEMPTS && change.number > 0; i++) {
		struct fw_store_result result;

		FW_TRY(fw_store_apply(store, &change, 1, &result));
		part.store_left = limit > result.number ? limit - result.number : 0;
		if (!result.is_refused) {
			part.amount = change.number;
			break;
		}
		change.number = part.store_left < want ? part.store_left : want;
	}
	*ret_part = part;
	/* When a row is created, expired ones are deleted; if that fails, the next time. */
	if (part.amount && part.amount == limit - part.store_left)
		fw_error_free(fw_store_expire(store, SWEPT, &swept));
	return NULL;
}

fw_error *fw_budget_return(struct fw_store *store, const char *client, enum fw_period period,
			   const struct fw_budget_window *window, int64_t amount)
{
	char key[FW_LIMIT_STORE_KEY_BYTES];
	const struct fw_store_change change = { .action = FW_STORE_ADD,
						.kind = KIND,
						.key = key,
						.number = -amount,
						.expires_ms = window->ends_ms + KEPT_MS,
						.is_limited = true,
						.max = INT64_MAX };
	struct fw_store_result result;

	if (amount <= 0)
		return NULL;
	make_key(client, period, window->name, key);
	return fw_store_apply(store, &change, 1, &result);
}
