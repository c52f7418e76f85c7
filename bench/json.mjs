/*
 * The same envelopes in Node: JSON.stringify and JSON.parse, medians over
 * interleaved rounds. Reads "CONTRACT TAB JSON" lines, writes lines
 * "node CONTRACT STRINGIFY_NS PARSE_NS".
 */
import { readFileSync } from "node:fs";

const rounds = 21;
const roundNs = 4e6;
let sink = 0;

const cases = readFileSync(0, "utf8").trimEnd().split("\n").flatMap((line) => {
	const [name, text] = line.split("\t");
	const value = JSON.parse(text);
	if (JSON.stringify(value) !== text)
		throw new Error(`${name} does not come out of JSON.stringify as it went in`);
	return [
		{ name, what: "stringify", run: () => JSON.stringify(value).length },
		{ name, what: "parse", run: () => Object.keys(JSON.parse(text)).length },
	];
});

function time(c, runs) {
	const start = process.hrtime.bigint();
	for (let i = 0; i < runs; i++)
		sink += c.run();
	return Number(process.hrtime.bigint() - start);
}

for (const c of cases) {
	for (c.runs = 1000; time(c, c.runs) < roundNs; c.runs *= 2)
		;
	c.ns = [];
}
for (let round = 0; round < rounds; round++)
	for (const c of cases)
		c.ns.push(time(c, c.runs) / c.runs);

const median = (list) => list.sort((a, b) => a - b)[list.length >> 1];
for (let i = 0; i < cases.length; i += 2)
	console.log("node", cases[i].name, median(cases[i].ns).toFixed(0), median(cases[i + 1].ns).toFixed(0));
if (sink === 0)
	throw new Error("nothing ran");
