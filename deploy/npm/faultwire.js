#!/usr/bin/env node
/*
 * Runs the faultwire program of the package for this platform, with the same
 * arguments, input and output, and ends as it ends.
 */
'use strict';

const { spawn } = require('node:child_process');

const platform = `faultwire-${process.platform}-${process.arch}`;
let program;
try {
	program = require.resolve(`${platform}/bin/faultwire`);
} catch {
	console.error(`faultwire: there is no program for ${process.platform}-${process.arch} yet. ` +
		'Build it from source: see README.md. If optional dependencies are turned off, ' +
		`install the package ${platform} yourself.`);
	process.exit(1);
}

const child = spawn(program, process.argv.slice(2), { stdio: 'inherit' });
/* Ctrl-C reaches the child by itself; these are sent to this process alone. */
for (const signal of ['SIGTERM', 'SIGHUP'])
	process.on(signal, () => child.kill(signal));
process.on('SIGINT', () => {});
child.on('error', (error) => {
	console.error(`faultwire: could not run ${program}: ${error.message}`);
	process.exit(1);
});
child.on('exit', (code, signal) => {
	if (!signal)
		process.exit(code);
	process.removeAllListeners(signal);
	process.kill(process.pid, signal);
});
