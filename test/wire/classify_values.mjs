// The two values that a text can state, in every phrasing that servers use for them: the
// texts are made from lists, and the expected value is the one that a text was made with.
// Numbers of anything else are never taken for a status.

import { check, finish, lines, run, same, test } from './lib/cli.mjs';

// Fails with the rows whose value is not the one that they were made with.
function checkValues(rows, member) {
	const input = rows.map(({ text }) => `${JSON.stringify({ text })}\n`).join('');
	const { status, out, err } = run(['classify', '--lines'], { input });
	same([status, err], [0, '']);
	const found = lines(out).map((line) => JSON.parse(line));
	same(found.length, rows.length);
	const wrong = rows.flatMap(({ text, value }, i) => (found[i][member] === value ? [] : [`${found[i][member]} instead of ${value} (${found[i].rule}): ${text}`]));
	same(wrong, []);
}

// ---- delays ----

// Ways to write a duration, with its seconds.
const durations = [
	...[1, 2, 5, 12, 30, 45, 90, 120].flatMap((n) => [
		[`${n} ${n === 1 ? 'second' : 'seconds'}`, n],
		[`${n}s`, n],
		[`${n} s`, n],
		[`${n} sec`, n],
		[`${n} secs`, n],
	]),
	...[1, 2, 10, 15].flatMap((n) => [
		[`${n} ${n === 1 ? 'minute' : 'minutes'}`, 60 * n],
		[`${n}m`, 60 * n],
		[`${n} min`, 60 * n],
		[`${n} mins`, 60 * n],
	]),
	...[1, 24].flatMap((n) => [
		[`${n} ${n === 1 ? 'hour' : 'hours'}`, 3600 * n],
		[`${n}h`, 3600 * n],
		[`${n} hr`, 3600 * n],
	]),
	['1.5 seconds', 1.5],
	['0.25s', 0.25],
	['500ms', 0.5],
	['500 ms', 0.5],
	['1500 milliseconds', 1.5],
	['2m30s', 150],
	['2m 30s', 150],
	['1h5m', 3900],
	['1 minute 30 seconds', 90],
	['1 minute and 30 seconds', 90],
	['2 hours, 5 minutes', 7500],
	['1 day', 86400],
	['a minute', 60],
	['an hour', 3600],
	['one minute', 60],
	['two minutes', 120],
	['thirty seconds', 30],
];

const delayPhrases = [
	(d) => `try again in ${d}`,
	(d) => `Try again in ${d}.`,
	(d) => `Please try again after ${d}.`,
	(d) => `please retry in ${d}`,
	(d) => `Please retry after ${d}.`,
	(d) => `Retry in ${d}`,
	(d) => `retry after ${d}`,
	(d) => `wait ${d}`,
	(d) => `You can make another request in ${d}`,
	(d) => `You have been rate limited for ${d}`,
	(d) => `Take a break for ${d} before trying again.`,
	(d) => `Please wait ${d} before retrying.`,
	(d) => `Please wait ${d} and try again.`,
	(d) => `wait at least ${d} before trying again`,
	(d) => `Please wait for ${d}`,
	(d) => `A wait of ${d} is required`,
	(d) => `you can retry in ${d}`,
	(d) => `You can try again in ${d}.`,
	(d) => `resets in ${d}`,
	(d) => `The limit resets in ${d}.`,
	(d) => `Rate limit will reset in ${d}`,
	(d) => `Quota resets in ${d}`,
	(d) => `(retry in ${d})`,
	(d) => `[retry after ${d}]`,
	(d) => `Expected available in ${d}.`,
	(d) => `available again in ${d}`,
	(d) => `back in ${d}`,
	(d) => `cooldown: ${d}`,
	(d) => `Retrying in ${d}`,
	(d) => `Please retry your request in ${d}`,
	(d) => `suggested backoff: ${d}`,
	(d) => `next attempt allowed in ${d}`,
	(d) => `{"error":"too many requests","message":"try again in ${d}"}`,
];

// A number without a unit, where the key says what it is.
const delayKeys = [
	(n) => [`Retry-After: ${n}`, n],
	(n) => [`retry-after=${n}`, n],
	(n) => [`Retry-After header: ${n}`, n],
	(n) => [`(Retry-After: ${n})`, n],
	(n) => [`{"retry_after": ${n}}`, n],
	(n) => [`{"retry_after":"${n}"}`, n],
	(n) => [`{"retryAfter":${n}}`, n],
	(n) => [`retry_after_seconds: ${n}`, n],
	(n) => [`{"retryAfterSeconds":${n}}`, n],
	(n) => [`retryAfterMs: ${n * 1000}`, n],
	(n) => [`{"retry_after_ms":${n * 1000}}`, n],
	(n) => [`retry after ${n}`, n],
	(n) => [`retryDelay: ${n}s`, n],
	(n) => [`{"retryDelay":"${n}s"}`, n],
	(n) => [`x-ratelimit-reset-after: ${n}`, n],
	(n) => [`{"wait_seconds":${n}}`, n],
	(n) => [`{"wait":${n}}`, n],
	(n) => [`FLOOD_WAIT_${n}`, n],
	(n) => [`Please wait ${n} more seconds`, n],
];

// What a text says besides: each of these may be repeated.
const reports = ['429 Too Many Requests', 'Rate limit exceeded', 'Service Unavailable', 'Server overloaded', 'Error: API rate limit reached for this key'];

test('a delay is found in every phrasing, unit and place', () => {
	const rows = [];
	for (const [i, phrase] of delayPhrases.entries())
		for (const [j, [text, value]] of durations.entries()) {
			const report = reports[(i + j) % reports.length];
			rows.push({ text: `${report}. ${phrase(text)}`, value }, { text: `${report}\n${phrase(text)}`, value });
		}
	for (const [i, key] of delayKeys.entries())
		for (const n of [1, 3, 7, 30, 60, 120, 3600]) {
			const [text, value] = key(n);
			rows.push({ text: `${reports[i % reports.length]}\n${text}`, value });
		}
	check(rows.length > 3000);
	checkValues(rows, 'retry_after');
});

test('a date, a time, a count and the time that something took are no delay', () => {
	const texts = [
		'resets at 2026-11-18T08:30:00Z',
		'try again at 08:30',
		'retry after 2026-11-18T08:30:00Z',
		'Retry-After: Wed, 21 Oct 2026 07:28:00 GMT',
		'resets at 1763454600',
		'reset: 1763454600',
		'available on 18 November 2026',
		'limit: 100 requests per 15 minutes',
		'maximum 60 requests per minute',
		'retry 3 of 5',
		'after 3 attempts',
		'try again in a few minutes',
		'try again later',
		'timed out after 30 seconds',
		'the request took 45 seconds',
		'waited 30 seconds',
		'(timeout 20s)',
	];
	checkValues(reports.flatMap((report) => texts.map((text) => ({ text: `${report}. ${text}`, value: null }))), 'retry_after');
});

// ---- statuses ----

const reasons = { 400: 'Bad Request', 401: 'Unauthorized', 402: 'Payment Required', 403: 'Forbidden', 404: 'Not Found', 405: 'Method Not Allowed', 406: 'Not Acceptable', 408: 'Request Timeout', 409: 'Conflict', 410: 'Gone', 412: 'Precondition Failed', 413: 'Payload Too Large', 415: 'Unsupported Media Type', 422: 'Unprocessable Entity', 423: 'Locked', 425: 'Too Early', 428: 'Precondition Required', 429: 'Too Many Requests', 500: 'Internal Server Error', 501: 'Not Implemented', 502: 'Bad Gateway', 503: 'Service Unavailable', 504: 'Gateway Timeout' };

const statusPhrases = [
	(n) => `Request failed with status code ${n}`,
	(n) => `status code ${n}`,
	(n) => `status code: ${n}`,
	(n) => `Status: ${n}`,
	(n) => `status ${n}`,
	(n) => `status=${n}`,
	(n) => `status_code=${n}`,
	(n) => `statusCode: ${n}`,
	(n) => `{"statusCode":${n}}`,
	(n) => `{"status":${n},"message":"x"}`,
	(n) => `{"error":{"code":${n},"message":"x"}}`,
	(n) => `{"status":"${n}"}`,
	(n) => `code=${n}`,
	(n) => `(code ${n})`,
	(n) => `HTTP ${n}`,
	(n) => `HTTP status ${n}`,
	(n) => `HTTP status code: ${n}`,
	(n) => `HTTP/1.1 ${n}`,
	(n) => `HTTP/2 ${n}`,
	(n) => `HTTP ${n}: x`,
	(n) => `HTTP error ${n}`,
	(n) => `HTTP Error ${n}: x`,
	(n) => `HTTP error! status: ${n}`,
	(n) => `HTTP_${n}`,
	(n) => `http-status=${n}`,
	(n) => `httpCode: ${n}`,
	(n) => `(HTTP ${n})`,
	(n) => `(status ${n})`,
	(n) => `(status: ${n})`,
	(n) => `[HTTP ${n}]`,
	(n) => `API error (${n})`,
	(n) => `API error: (${n}) x`,
	(n) => `API request failed (${n}): x`,
	(n) => `Request failed [${n}]`,
	(n) => `API error ${n}`,
	(n) => `API error: ${n}`,
	(n) => `API Error: ${n} - x`,
	(n) => `API returned ${n}`,
	(n) => `API responded with ${n}`,
	(n) => `The server responded with a status of ${n}`,
	(n) => `Server returned HTTP response code: ${n} for URL: https://api.example.com/v1`,
	(n) => `server replied ${n}`,
	(n) => `received ${n} from the server`,
	(n) => `got ${n}`,
	(n) => `got status ${n}`,
	(n) => `unexpected status code ${n}`,
	(n) => `Unexpected status: ${n}`,
	(n) => `unexpected HTTP status ${n}`,
	(n) => `non-200 status code: ${n}`,
	(n) => `expected status 200, got ${n}`,
	(n) => `response code ${n}`,
	(n) => `Response status: ${n}`,
	(n) => `response status code was ${n}`,
	(n) => `Error ${n}`,
	(n) => `Error code: ${n}`,
	(n) => `error: ${n}`,
	(n) => `Request failed: ${n}`,
	(n) => `${n} error`,
	(n) => `${n} Client Error: x for url: https://api.example.com/v1`,
	(n) => `${n} {"message":"x"}`,
	(n) => `${n}: the body was refused`,
	(n) => `GET https://api.example.com/v1/items: ${n} []`,
	(n) => `HTTPError: ${n}`,
	(n) => `AxiosError: Request failed with status code ${n}`,
	(n) => `<HttpError ${n} when requesting https://api.example.com/v1 returned "x">`,
	(n) => `Failed to fetch https://example.com/a - status code ${n}`,
	(n) => `Failed to load https://example.com/a: ${n}`,
	(n) => `<html><body><h1>${n}</h1></body></html>`,
	(n) => `[POST /folders][${n}] createFolderFailed {"message":"x"}`,
];

const reasonPhrases = [
	(n, reason) => `${n} ${reason}`,
	(n, reason) => `Error: ${n} ${reason}`,
	(n, reason) => `${reason}`,
	(n, reason) => `Request failed: ${n} ${reason}`,
	(n, reason) => `${reason} (${n})`,
	(n, reason) => `[${n} ${reason}] x`,
	(n, reason) => `HTTP ${n} ${reason}`,
	(n, reason) => `upstream said ${n} ${reason}`,
	(n, reason) => `Failed to load the page: ${n} ${reason} (https://example.com/a)`,
	(n, reason) => `<html><head><title>${n} ${reason}</title></head></html>`,
];

test('a status is found in every phrasing', () => {
	const rows = [];
	for (const [number, reason] of Object.entries(reasons)) {
		const value = Number(number);
		for (const phrase of [...statusPhrases, ...reasonPhrases]) rows.push({ text: phrase(value, reason), value });
	}
	for (const value of [418, 451, 499, 507, 520, 522, 524, 529, 456, 302, 304]) for (const phrase of statusPhrases.slice(0, 9)) rows.push({ text: phrase(value), value });
	check(rows.length > 1700);
	checkValues(rows, 'http_status');
});

test('a port, a line, a size, an id, a limit, a year or a duration is not a status', () => {
	const phrases = [
		(n) => `listening on port ${n}`,
		(n) => `connect to 127.0.0.1:${n} failed`,
		(n) => `connect ECONNREFUSED 10.0.0.5:${n}`,
		(n) => `http://localhost:${n}/x did not answer`,
		(n) => `https://example.com/items/${n} is wrong`,
		(n) => `at line ${n}`,
		(n) => `line ${n}, column 3`,
		(n) => `server.js:${n}:12`,
		(n) => `row ${n} has no name`,
		(n) => `position ${n}`,
		(n) => `at offset ${n}`,
		(n) => `${n} bytes expected`,
		(n) => `${n} KB is too much`,
		(n) => `${n}MB`,
		(n) => `file has ${n} lines`,
		(n) => `received ${n} rows`,
		(n) => `got ${n} items`,
		(n) => `${n} characters at most`,
		(n) => `must be at most ${n}`,
		(n) => `must be less than ${n}`,
		(n) => `must be between 1 and ${n}`,
		(n) => `limit ${n} is out of range`,
		(n) => `max_results ${n} is too large`,
		(n) => `expected a number up to ${n}`,
		(n) => `id ${n}`,
		(n) => `id: ${n}`,
		(n) => `issue #${n}`,
		(n) => `PROJ-${n}`,
		(n) => `user ${n} is unknown`,
		(n) => `pull request ${n} cannot be merged`,
		(n) => `ticket ${n} is closed`,
		(n) => `room ${n}`,
		(n) => `page ${n} of 600`,
		(n) => `process ${n} died`,
		(n) => `pid ${n}`,
		(n) => `version ${n}`,
		(n) => `version 1.${n}.0`,
		(n) => `took ${n} ms`,
		(n) => `timeout of ${n}ms`,
		(n) => `waited ${n} seconds`,
		(n) => `request-id ${n}a7f`,
		(n) => `order ${n}-A`,
		(n) => `$${n} is more than the balance`,
		(n) => `${n}% of the space`,
		(n) => `one of [${n}, 600, 700]`,
		(n) => `dimension ${n} does not match 384`,
		(n) => `exit code ${n - 300}`,
		(n) => `in ${n * 5}`,
	];
	const rows = [];
	for (const value of [400, 401, 403, 404, 409, 422, 429, 500, 502, 503, 504]) for (const phrase of phrases) rows.push({ text: phrase(value), value: null });
	checkValues(rows, 'http_status');
});

finish();
