/*
 * similar.js - which incidents are like another one. Two messages are compared without
 * what differs from call to call: numbers, ids, quoted names and paths.
 */

/* A message with its variable parts replaced by one sign each. */
export function template(message) {
	return String(message || '')
		.replace(/"[^"]*"|'[^']*'|`[^`]*`/g, '*')
		.replace(/\b[\w.+-]+:\/\/\S+|(?:\.{0,2}\/)?[\w.@-]+(?:\/[\w.@-]+)+|(?<![\w.])\/[\w.@-]+/g, '*')
		.replace(/\binc_\w+|\b[0-9a-f]{8,}\b|\b[0-9a-f-]{36}\b/gi, '*')
		.replace(/\d+(?:\.\d+)?/g, '*')
		.toLowerCase();
}

function words(text) {
	return new Set(text.split(/[^\p{L}*]+/u).filter(Boolean));
}

/* From 0 (no word in common) to 1 (the same words). */
export function overlap(a, b) {
	const left = words(a), right = words(b);
	let both = 0;
	for (const word of left)
		both += right.has(word) ? 1 : 0;
	return both / Math.max(1, left.size + right.size - both);
}

/* How alike two incidents are, and in what. A code alone is not enough: every timeout
 * has the same one. */
export function compare(one, other) {
	const reasons = [];
	let score = 0;
	const add = (points, reason) => {
		score += points;
		reasons.push(reason);
	};
	const a = template(one.message), b = template(other.message);
	const common = a === b ? 1 : overlap(a, b);
	if (common === 1)
		add(4, 'message');
	else if (common >= 0.5)
		add(3 * common, 'similar message');
	if (one.code === other.code)
		add(2, 'code');
	if (one.tool && one.tool === other.tool)
		add(2, 'tool');
	if (one.client && one.client === other.client)
		add(1, 'client');
	return { score, reasons };
}

const ENOUGH = 4;

/* The incidents that are most like this one, each once, with { incident, score, reasons }. */
export function similarTo(one, others) {
	const byId = new Map(others.filter((other) => other.id !== one.id).map((other) => [other.id, other]));
	return [...byId.values()].map((incident) => ({ incident, ...compare(one, incident) }))
		.filter(({ score }) => score >= ENOUGH)
		.sort((x, y) => y.score - x.score || (x.incident.time < y.incident.time ? 1 : -1));
}
