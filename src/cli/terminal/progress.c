/*
 * progress.c - see progress.h. There is one bar at a time, so its state is global.
 */
#include "cli/terminal/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/terminal/text.h"

enum {
	LINES_BETWEEN_LOOKS = 512,
	THINGS_BETWEEN_LOOKS = 8,
	MS_BETWEEN_BARS = 100,
	BAR_WIDTH = 24
};

static struct {
	bool on;
	bool visible;
	char name[28]; /* truncated, without control characters */
	const char *unit;
	uint64_t total;
	uint64_t stride; /* steps between two reads of the clock */
	uint64_t next_look;
	int64_t started_ms;
	int64_t shown_ms;
} bar;

static void show(const char *text, int len)
{
	if (len > 0)
		(void)!write(STDERR_FILENO, text, (size_t)len);
}

void cli_progress_start(const char *name, uint64_t total)
{
	bar.on = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO) && cli_terminal_has_escapes();
	bar.visible = false;
	bar.unit = "lines";
	bar.stride = LINES_BETWEEN_LOOKS;
	cli_make_harmless(name, bar.name, sizeof bar.name);
	bar.total = total;
	bar.next_look = 0;
	bar.started_ms = bar.shown_ms = fw_steady_ms();
}

void cli_progress_count(const char *name, const char *unit)
{
	cli_progress_start(name, 0);
	bar.on = isatty(STDERR_FILENO) && cli_terminal_has_escapes();
	bar.unit = unit;
	bar.stride = THINGS_BETWEEN_LOOKS;
}

void cli_progress_total(uint64_t total)
{
	bar.total = total;
}

static void draw(uint64_t lines, uint64_t bytes, int64_t now_ms)
{
	double seconds = (double)(now_ms - bar.started_ms) / 1000;
	double rate = seconds > 0 ? (double)lines / seconds : 0;
	char text[256];
	int len;

	if (bar.total > 0) {
		char filled[BAR_WIDTH + 1];
		double part = (double)bytes / (double)bar.total;
		int full;

		part = part > 1 ? 1 : part;
		full = (int)(part * BAR_WIDTH);
		for (int i = 0; i < BAR_WIDTH; i++)
			filled[i] = i < full ? '#' : '.';
		filled[BAR_WIDTH] = '\0';
		len = snprintf(text, sizeof text,
			       "\r\033[K%s [%s] %3.0f %%  %llu %s  %.0f %s/s", bar.name, filled,
			       part * 100, (unsigned long long)lines, bar.unit, rate, bar.unit);
	} else {
		len = snprintf(text, sizeof text, "\r\033[K%s  %llu %s  %.1f MB  %.0f %s/s",
			       bar.name, (unsigned long long)lines, bar.unit,
			       (double)bytes / 1e6, rate, bar.unit);
	}
	show(text, len < (int)sizeof text ? len : (int)sizeof text - 1);
	bar.visible = true;
	bar.shown_ms = now_ms;
}

void cli_progress_step(uint64_t lines, uint64_t bytes)
{
	int64_t now_ms;

	if (!bar.on || lines < bar.next_look)
		return;
	bar.next_look = lines + bar.stride;
	now_ms = fw_steady_ms();
	if (now_ms - bar.shown_ms >= MS_BETWEEN_BARS)
		draw(lines, bytes, now_ms);
}

bool cli_progress_visible(void)
{
	return bar.visible;
}

void cli_progress_stop(void)
{
	if (bar.visible)
		show("\r\033[K", 4);
	bar.on = bar.visible = false;
}
