// The least that a script on the TypeScript SDK needs for one call.
//
//   node script.mjs TOOL JSON COMMAND [ARGUMENT...]    over stdio
//   node script.mjs TOOL JSON URL                      over HTTP

import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

const [name, args, target, ...rest] = process.argv.slice(2);
const client = new Client({ name: 'script', version: '1' });
await client.connect(/^https?:/.test(target) ? new StreamableHTTPClientTransport(new URL(target)) : new StdioClientTransport({ command: target, args: rest }));
console.log(JSON.stringify(await client.callTool({ name, arguments: JSON.parse(args) })));
await client.close();
