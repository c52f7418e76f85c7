/*
 * chart.js - the three pictures of the dashboard, in SVG: bars of an hour, lines of
 * durations, and the small line in a row of a table.
 */
import { s, clock, count, duration } from './dom.js';

const WIDTH = 720, HEIGHT = 150, LEFT = 44, BOTTOM = 20;

/* The next round number that is not smaller. */
export function roundUp(value) {
	if (value <= 5)
		return 5;
	const power = 10 ** Math.floor(Math.log10(value));
	return [1, 2, 2.5, 5, 10].map((step) => step * power).find((step) => step >= value);
}

function frame(label, most, format, start) {
	const chart = s('svg', { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: 'chart', role: 'img', 'aria-label': label });
	for (const part of [0, 0.5, 1]) {
		const y = 6 + (HEIGHT - BOTTOM - 6) * (1 - part);
		chart.append(s('line', { x1: LEFT, x2: WIDTH, y1: y, y2: y, class: 'grid' }),
			s('text', { x: LEFT - 6, y: y + 4, 'text-anchor': 'end' }, format(most * part)));
	}
	for (const minute of [0, 15, 30, 45]) {
		const x = LEFT + (WIDTH - LEFT) * minute / 60;
		chart.append(s('text', { x, y: HEIGHT - 4 }, clock(start + minute * 60000).slice(0, 5)));
	}
	return chart;
}

const yOf = (value, most) => 6 + (HEIGHT - BOTTOM - 6) * (1 - value / most);

/* Calls per minute, with the failures of each in front. */
export function bars(calls, failures, lastMinute) {
	const most = roundUp(Math.max(...calls));
	const start = lastMinute - 59 * 60000;
	const sum = (list) => list.reduce((a, b) => a + b, 0);
	const chart = frame(`Calls of the last hour: ${sum(calls)}, of which ${sum(failures)} failed`, most, (v) => count(Math.round(v)), start);
	const step = (WIDTH - LEFT) / 60;
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

/* Lines over the hour; null is a gap. */
export function lines(series, lastMinute) {
	const values = series.flatMap((line) => line.values).filter((value) => value !== null);
	const most = Math.max(...values, 0.001) * 1.1;
	const chart = frame('Durations of the last hour', most, duration, lastMinute - 59 * 60000);
	const step = (WIDTH - LEFT) / 60;
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

/* A bar beside a number. */
export function share(value, most) {
	return s('svg', { viewBox: '0 0 100 10', class: 'share', 'aria-hidden': 'true', preserveAspectRatio: 'none' },
		s('rect', { class: 'track', width: 100, height: 10, rx: 3 }),
		s('rect', { class: 'part', width: Math.max(2, 100 * value / most), height: 10, rx: 3 }));
}

/* The hour of one row; counts may begin late. */
export function sparkline(counts) {
	const all = Array(60 - counts.length).fill(0).concat(counts);
	const most = Math.max(...all, 1);
	const points = all.map((value, i) => `${(i * 100 / 59).toFixed(1)},${(19 - 17 * value / most).toFixed(1)}`);
	return s('svg', { viewBox: '0 0 100 20', class: 'spark', 'aria-hidden': 'true', preserveAspectRatio: 'none' },
		s('polygon', { points: `0,20 ${points.join(' ')} 100,20` }),
		s('polyline', { points: points.join(' ') }));
}
