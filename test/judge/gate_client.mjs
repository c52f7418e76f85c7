/*
 * The client of the conformance suite behind a gateway: `node gate_client.mjs URL`. The suite is the
 * server at the URL, so it judges what the gateway sends.
 */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { env, everything, faultwire, quiet, serve } from './gate_lib.mjs';

const gate = await serve(faultwire, ['gate', '--http', '127.0.0.1:0', ...quiet, '--url', process.argv.at(-1)]);
const client = spawn(join(everything, '../../conformance_client'), [gate.url.href], { stdio: 'inherit', env: { ...process.env, ...env } });

client.on('exit', (status) => {
	gate.child.on('exit', () => process.exit(status ?? 1));
	gate.stop();
});
