/*
 * plan_show.c - see plan_show.h.
 */
#include "cli/commands/plan_show.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/terminal/json_out.h"
#include "cli/terminal/output.h"
#include "cli/terminal/text.h"

enum { TEXT_SIZE = 1024 };

void cli_plan_unload(struct cli_plan *plan)
{
	fw__release(plan->text);
	plan->text = NULL;
}

fw_error *cli_plan_load(const struct cli_plan_place *place, const char *hash,
			struct cli_plan *ret)
{
	memset(ret, 0, sizeof *ret);
	(void)snprintf(ret->hash, sizeof ret->hash, "%.64s", hash);
	FW_TRY(fw_ws_plan_load(&place->root, hash, &ret->text, &ret->len));
	ret->distrust =
		fw_ws_plan_read(ret->text, ret->len, &ret->plan, ret->fault)
			? fw_ws_plan_verify(&ret->plan, hash, &place->key, place->root.identity)
			: ret->fault;
	if (!ret->distrust && ret->plan.is_approved &&
	    fw_ws_revoked_has(place->revoked, &place->root, hash))
		ret->distrust = FW_WS_REVOKED_FAULT;
	return NULL;
}

/* ---- showing ------------------------------------------------------------------------ */

static void copy_span(struct fw_ws_span span, char ret_text[TEXT_SIZE])
{
	(void)snprintf(ret_text, TEXT_SIZE, "%.*s",
		       (int)(span.len < TEXT_SIZE ? span.len : TEXT_SIZE - 1), span.text);
}

void cli_plan_put_span(struct fw_ws_span span)
{
	char text[TEXT_SIZE];

	copy_span(span, text);
	cli_put_harmless(text);
}

static bool is_break(char c)
{
	return c == '\n' || c == '\t';
}

/* The length of the next piece that fits, not cut within a character. */
static size_t piece_len(const char *at, const char *end)
{
	size_t len = 0;

	while (at + len < end && len < TEXT_SIZE - 1 && !is_break(at[len]))
		len++;
	for (int i = 0; i < 3 && at + len < end && len > 3; i++)
		if (((unsigned char)at[len] & 0xc0) == 0x80)
			len--;
	return len;
}

/* In pieces: nothing of what a person approves may be left out. */
void cli_plan_put_text(const struct cli_plan *plan)
{
	const char *at = plan->text;
	const char *end = at + plan->len;

	while (at < end) {
		size_t len = piece_len(at, end);

		cli_plan_put_span((struct fw_ws_span){ at, len });
		at += len;
		if (at < end && is_break(*at))
			cli_putc(*at++);
	}
	if (plan->len && end[-1] != '\n')
		cli_putc('\n');
}

static void put_member(const char *key, struct fw_ws_span span)
{
	char text[TEXT_SIZE];

	copy_span(span, text);
	cli_json_string(key, text);
}

void cli_plan_put_json(const struct cli_plan *plan, bool with_text)
{
	const struct fw_ws_plan *parsed = &plan->plan;
	bool is_read = !plan->fault[0];

	cli_json_open(NULL, '{');
	cli_json_string("plan", plan->hash);
	if (is_read) {
		put_member("title", parsed->title);
		put_member("status", parsed->status);
		cli_json_open("scope", '[');
		for (size_t i = 0; i < parsed->scope_count; i++)
			put_member(NULL, parsed->scopes[i]);
		cli_json_close(']');
	}
	cli_json_bool("usable", is_read && parsed->is_approved && !plan->distrust);
	cli_json_string("fault", plan->distrust);
	if (with_text)
		cli_json_string("text", plan->text);
	cli_json_close('}');
}

void cli_plan_put_scopes(const struct fw_ws_plan *plan)
{
	for (size_t i = 0; i < plan->scope_count; i++) {
		if (i)
			cli_puts(", ");
		cli_plan_put_span(plan->scopes[i]);
	}
}

void cli_plan_put_line(const struct cli_plan *plan)
{
	cli_printf("%.12s  ", plan->hash);
	if (plan->distrust) {
		cli_cell("REFUSED", 10);
		cli_put_harmless(plan->distrust);
	} else {
		cli_cell(plan->plan.is_approved ? "APPROVED" : "PENDING", 10);
		cli_plan_put_span(plan->plan.title);
		cli_puts("  [");
		cli_plan_put_scopes(&plan->plan);
		cli_puts("]");
	}
	cli_putc('\n');
}
