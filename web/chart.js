/*
 * chart.js - the three pictures of the dashboard, in SVG: bars of calls, lines of
 * durations, and the small line in a row of a table.
 */
import { s, clock, count, duration } from './dom.js';

/* On a phone the picture is narrower, so that its text stays readable. */
const isNarrow = matchMedia('(max-width: 52rem)');
const HEIGHT = 150, LEFT = 58, BOTTOM = 20;
const width = () => isNarrow.matches ? 400 : 640;

/* The minutes that are shown: less than the hour while the server is young. */
export function span(data) {
	const age = (data.now_ms - data.started_ms) / 60000;
	return age < 14 ? 15 : age < 29 ? 30 : 60;
}

/* The next round number that is not smaller. */
export function roundUp(value, least = 0) {
	if (value <= least)
		return least;
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

function frame(label, most, format, lastMinute, minutes) {
	const right = width();
	const start = lastMinute - (minutes - 1) * 60000;
	const chart = s('svg', { viewBox: `0 0 ${right} ${HEIGHT}`, class: 'chart', role: 'img', 'aria-label': label });
	for (const part of [0, 0.5, 1]) {
		const y = 6 + (HEIGHT - BOTTOM - 6) * (1 - part);
		chart.append(s('line', { x1: LEFT, x2: right, y1: y, y2: y, class: 'grid' }),
			s('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, format(most * part)));
	}
	for (const part of isNarrow.matches ? [0, 0.5] : [0, 0.25, 0.5, 0.75]) {
		const x = LEFT + (right - LEFT) * part;
		chart.append(s('text', { x, y: HEIGHT - 4 }, clock(start + Math.round(minutes * part) * 60000).slice(0, 5)));
	}
	return chart;
}

const yOf = (value, most) => 6 + (HEIGHT - BOTTOM - 6) * (1 - value / most);

/* Calls per minute, with the failures of each in front. */
export function bars(calls, failures, lastMinute) {
	/* Even, so that the line in the middle is a whole number. */
	const most = 2 * roundUp(Math.max(...calls) / 2, 2);
	const start = lastMinute - (calls.length - 1) * 60000;
	const sum = (list) => list.reduce((a, b) => a + b, 0);
	const chart = frame(`Calls of the last ${calls.length} minutes: ${sum(calls)}, of which ${sum(failures)} failed`, most, count, lastMinute, calls.length);
	const step = (width() - LEFT) / calls.length;
	calls.forEach((value, i) => {
		const x = LEFT + i * step + 1;
		const group = s('g', {}, s('title', {}, `${clock(start + i * 60000).slice(0, 5)} UTC: ${value} calls, ${failures[i]} failed`));
		if (value)
			group.append(s('rect', { class: 'ok', x, y: yOf(value, most), width: step - 2, height: Math.max(1, yOf(0, most) - yOf(value, most)), rx: 1.5 }));
		if (failures[i])
			group.append(s('rect', { class: 'bad', x, y: yOf(failures[i], most), width: step - 2, height: Math.max(2, yOf(0, most) - yOf(failures[i], most)), rx: 1.5 }));
		chart.append(group);
	});
	return chart;
}

/* One line per series; null is a gap. */
export function lines(series, lastMinute) {
	const values = series.flatMap((line) => line.values).filter((value) => value !== null);
	const most = roundUp(Math.max(...values, 0.001));
	const minutes = series[0].values.length;
	const chart = frame(`Durations of the last ${minutes} minutes`, most, (v) => v && values.length ? duration(v) : v ? '' : '0', lastMinute, minutes);
	const step = (width() - LEFT) / minutes;
	for (const { name, values: list } of series) {
		let path = '', pen = 'M';
		list.forEach((value, i) => {
			if (value === null) {
				pen = 'M';
				return;
			}
			const x = (LEFT + (i + 0.5) * step).toFixed(1), y = yOf(value, most).toFixed(1);
			/* A minute between two gaps is a dot. */
			if ((list[i - 1] ?? null) === null && (list[i + 1] ?? null) === null)
				chart.append(s('circle', { class: `dot ${name}`, cx: x, cy: y, r: 2.5 }));
			path += `${pen}${x} ${y}`;
			pen = 'L';
		});
		chart.append(s('path', { class: `line ${name}`, d: path || 'M0 0' }, s('title', {}, name)));
	}
	return chart;
}

/* The good part of a whole. */
export function split(good, bad) {
	const part = 100 * good / Math.max(1, good + bad);
	return s('svg', { viewBox: '0 0 100 10', class: 'share', 'aria-hidden': 'true', preserveAspectRatio: 'none' },
		s('rect', { class: 'track', width: 100, height: 10, rx: 3 }),
		s('rect', { class: 'good', width: part, height: 10, rx: 3 }));
}

/* A bar beside a number. */
export function share(value, most) {
	return s('svg', { viewBox: '0 0 100 10', class: 'share', 'aria-hidden': 'true', preserveAspectRatio: 'none' },
		s('rect', { class: 'track', width: 100, height: 10, rx: 3 }),
		s('rect', { class: 'part', width: Math.max(2, 100 * value / most), height: 10, rx: 3 }));
}

/* The last minutes of one row. */
export function sparkline(counts, minutes) {
	const all = counts.slice(-minutes);
	const most = Math.max(...all, 1);
	const points = all.map((value, i) => `${(i * 100 / (minutes - 1)).toFixed(1)},${(19 - 17 * value / most).toFixed(1)}`);
	return s('svg', { viewBox: '0 0 100 20', class: 'spark', 'aria-hidden': 'true', preserveAspectRatio: 'none' },
		s('polygon', { points: `0,20 ${points.join(' ')} 100,20` }),
		s('polyline', { points: points.join(' ') }));
}
