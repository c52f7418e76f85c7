// Configuration files as the clients write them, and as people leave them: name, text, and
// how many servers are to be wrapped. Servers are `mcpServers`, or what the client calls it.

const claudeDesktop = `{
  "globalShortcut": "Ctrl+Space",
  "mcpServers": {
    "filesystem": {
      "command": "npx",
      "args": ["-y", "@modelcontextprotocol/server-filesystem", "/home/ada/Documents", "/home/ada/My Files"]
    },
    "github": {
      "command": "docker",
      "args": [
        "run", "-i", "--rm",
        "-e", "GITHUB_PERSONAL_ACCESS_TOKEN",
        "ghcr.io/github/github-mcp-server"
      ],
      "env": { "GITHUB_PERSONAL_ACCESS_TOKEN": "ghp_0123456789abcdef0123456789abcdef0123" }
    },
    "no-args": { "command": "/opt/tools/server" }
  }
}
`;

const claudeCode = `{
	"numStartups": 184,
	"projects": {
		"/home/ada/one": {
			"allowedTools": [],
			"mcpServers": {
				"memory": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {}}
			}
		},
		"/home/ada/two": {"mcpServers": {}}
	},
	"mcpServers": {
		"linear": {"type": "http", "url": "https://mcp.example.com/mcp", "headers": {"Authorization": "Bearer \${LINEAR_TOKEN}"}}
	}
}`;

const cursor = `{
  "mcpServers": {
    "python": { "command": "uvx", "args": ["mcp-server-git", "--repository", "."], "cwd": "\${workspaceFolder}", "disabled": false },
    "remote": { "url": "http://127.0.0.1:3000/mcp" }
  }
}
`.replaceAll('\n', '\r\n');

const vscode = `// MCP servers of this workspace
{
    "inputs": [
        { "type": "promptString", "id": "key", "description": "API key", "password": true },
    ],
    "servers": {
        /* runs on this machine */
        "fetch": {
            "type": "stdio",
            "command": "uvx", // needs uv
            "args": [
                "mcp-server-fetch", // "not a string that ends here
                "--ignore-robots-txt",
            ],
            "env": { "API_KEY": "\${input:key}", },
        },
        "docs": { "type": "http", "url": "https://docs.example.com/api/mcp" },
    },
}
`;

const windsurf = `\uFEFF{"mcpServers":{"a":{"command":"node","args":["server.js","{\\"mcpServers\\":{}}"],"disabledTools":["x"]},"b \\u00e9":{"command":"C:\\\\tools\\\\b.exe","args":[]},"s":{"serverUrl":"https://example.com/mcp"}}}`;

export const files = [
	{ name: 'claude_desktop_config.json', text: claudeDesktop, wrapped: 3 },
	{ name: '.claude.json', text: claudeCode, wrapped: 2 },
	{ name: 'mcp.json', text: cursor, wrapped: 2 },
	{ name: 'vscode-mcp.json', text: vscode, wrapped: 2 },
	{ name: 'mcp_config.json', text: windsurf, wrapped: 3 },
];

// JSON with comments, trailing commas and a byte order mark, read without the code under test.
export function read(text) {
	let out = '';
	const source = text.replace(/^\uFEFF/, '');
	for (let at = 0; at < source.length; ) {
		const string = /^"(?:[^"\\]|\\.)*"/.exec(source.slice(at));
		const comment = /^(?:\/\/[^\n]*|\/\*[\s\S]*?\*\/)/.exec(source.slice(at));
		if (string) out += string[0];
		else if (!comment) out += source[at];
		at += (string ?? comment ?? [' '])[0].length;
	}
	return JSON.parse(out.replace(/("(?:[^"\\]|\\.)*")|,(\s*[}\]])/g, (all, kept, close) => kept ?? close));
}

// All servers of a file, at any depth: [path, entry].
export function servers(value, path = []) {
	if (value === null || typeof value !== 'object') return [];
	return Object.entries(value).flatMap(([key, inner]) =>
		(key === 'mcpServers' || key === 'servers' || key === 'context_servers') && inner && typeof inner === 'object' && !Array.isArray(inner)
			? Object.entries(inner).map(([name, entry]) => [[...path, key, name].join('/'), entry])
			: servers(inner, [...path, key]));
}
