/*
 * fuzz_classify.c - a text is always classified, in the same way each time; and a file of
 * rules is accepted or refused with a mistake, and then used.
 *
 * The first byte chooses: even, a text; odd, a file of rules.
 */
#include "fuzz.h"

#include <faultwire/classify.h>

static void check_text(const fw_classifier *rules, const char *text, size_t len)
{
	fw_flat_text flat = { .text = text, .len = len };
	fw_classification a, b;
	fw_error *err;

	fw_classify(rules, &flat, &a);
	fw_classify(rules, &flat, &b);
	MUST(a.row && a.row == b.row && a.rule == b.rule);
	MUST(a.confidence >= 0 && a.confidence <= 1);
	MUST(a.retry_after < 0 || a.retry == FW_RETRY_BACKOFF);
	MUST(a.http_status == 0 || (a.http_status >= 200 && a.http_status < 600));
	MUST(a.rule || a.retry == FW_RETRY_NEVER);
	err = fw_error_classify(FW_HERE, rules, &flat);
	MUST(err && fw_error_row(err) == a.row);
	fw_error_free(err);
}

static void check_rules(const char *text, size_t len)
{
	fw_classifier *rules = NULL;
	fw_error *err = fw_classifier_new(text, len, NULL, NULL, NULL, &rules);

	MUST(!err == !!rules);
	if (rules)
		check_text(rules, text, len);
	fw_error_free(err);
	fw_classifier_free(rules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	long live = fw_error_live();

	if (size == 0)
		return 0;
	if (data[0] % 2)
		check_rules((const char *)data + 1, size - 1);
	else
		check_text(fw_classifier_builtin(), (const char *)data + 1, size - 1);
	MUST(fw_error_live() == live);
	return 0;
}
