/*
 * What the judges share: the program under test, the contracts, and ajv.
 *
 * FAULTWIRE names the program (default: build/faultwire of this repository).
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const here = dirname(fileURLToPath(import.meta.url));
const program = process.env.FAULTWIRE ?? join(here, "..", "..", "build", "faultwire");

export const NOW = "2026-01-19T15:32:10.123Z";
export const INCIDENT = "inc_20260119_abcdefgh";

/* The five public ones, owlclaw in both its forms, and our own. */
export const contracts = [
	"canonical", "kaiza", "context-v0", "codeintel", "toolerror", "owlclaw", "owlclaw-api",
];

/** Run the program; answers { status, stdout, stderr }. */
export function faultwire(args, input = "") {
	const run = spawnSync(program, args, {
		input,
		encoding: "utf8",
		maxBuffer: 1 << 30,
		env: { ...process.env, NO_COLOR: "1" },
	});
	if (run.error)
		throw run.error;
	if (run.signal)
		throw new Error(`faultwire ${args.join(" ")} died of ${run.signal}: ${run.stderr}`);
	return run;
}

/** The same, which must succeed; answers its stdout. */
export function ok(args, input) {
	const run = faultwire(args, input);
	if (run.status !== 0)
		throw new Error(`faultwire ${args.join(" ")}: exit ${run.status}\n${run.stderr}${run.stdout.slice(0, 2000)}`);
	return run.stdout;
}

/** Text to lines, without the last newline; an empty line stays visible. */
export function lines(text) {
	const all = text.split("\n");
	if (all.at(-1) === "")
		all.pop();
	return all;
}

/** One canonical envelope per registered code, as text. */
export const examples = () => lines(ok(["registry", "--examples"]));

/** Convert many envelopes at once: lines in, lines out. */
export function convertLines(from, to, input, more = []) {
	const args = ["convert", "--lines", "--from", from, "--to", to, "--now", NOW,
		"--incident-id", INCIDENT, ...more];
	const out = lines(ok(args, input.join("\n") + "\n"));
	if (out.length !== input.length)
		throw new Error(`${from} -> ${to}: ${input.length} lines in, ${out.length} out`);
	return out;
}

/** Convert one envelope, exact bytes. */
export function convert(from, to, text, more = []) {
	return ok(["convert", "--from", from, "--to", to, "--now", NOW,
		"--incident-id", INCIDENT, ...more], text);
}

function ajv() {
	const judge = new Ajv2020({ allErrors: true, strict: false, validateFormats: true });
	addFormats(judge);
	return judge;
}

/** The schema that the program publishes, compiled by ajv. */
export function published(contract) {
	return ajv().compile(JSON.parse(ok(["registry", "--schema", contract])));
}

/** The schema in schemas/, written by hand from the contract, compiled by ajv. */
export function byHand(contract) {
	const path = join(here, "schemas", `${contract}.schema.json`);
	return ajv().compile(JSON.parse(readFileSync(path, "utf8")));
}

/** A seeded generator: the same mutations on every run. */
export { random } from "../wire/lib/random.mjs";

/** Where a server that was started with --http says that it listens; its standard
 *  error is a pipe. */
export const listening = (server) => new Promise((found, lost) => {
	let said = "";
	server.stderr.on("data", (bytes) => {
		said += bytes;
		const match = said.match(/http:\/\/[^\s"]+/);
		if (match) found(new URL(match[0]));
	});
	server.once("exit", (code) => lost(new Error(`the server ended with ${code}: ${said}`)));
});

/* What each code of context-v0 says. */
export const contextMessages = {
	cache_missing: "Cache does not exist",
	cache_invalid: "Cache exists but is invalid",
	invalid_query: "Query is invalid",
	invalid_budget: "Budget is invalid",
	io_error: "I/O error occurred",
	internal_error: "Internal error",
};
