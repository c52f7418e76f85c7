// bench/api_calls.mjs URL SURFACE COUNT: calls a tool COUNT times by "api" or "mcp", on one
// connection, so that the instructions of the server can be counted.

import { Line, requests } from './api_line.mjs';

const [, , url, surface, count] = process.argv;
const request = requests(new URL(url))[surface];
const line = await Line.open(new URL(url));
for (let i = 0; i < Number(count); i++) await line.call(request);
line.end();
