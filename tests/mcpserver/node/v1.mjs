// The TypeScript client of the first generation.
export async function connect(load, server) {
  const { Client } = load("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = load("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = load("@modelcontextprotocol/sdk/client/streamableHttp.js");
  const client = new Client({ name: "tests", version: "1" });
  const transport = server.url
    ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } })
    : new StdioClientTransport({ command: server.command[0], args: server.command.slice(1), env: process.env });
  await client.connect(transport);
  return client;
}
