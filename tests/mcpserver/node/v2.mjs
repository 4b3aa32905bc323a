// The TypeScript client of the second generation, in the era that is asked for.
export async function connect(load, server) {
  const { Client, StreamableHTTPClientTransport } = load("@modelcontextprotocol/client");
  const { StdioClientTransport } = load("@modelcontextprotocol/client/stdio");
  const mode = server.era === "legacy" ? "legacy" : { pin: server.era };
  const client = new Client({ name: "tests", version: "1" }, { versionNegotiation: { mode } });
  const transport = server.url
    ? new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } })
    : new StdioClientTransport({ command: server.command[0], args: server.command.slice(1), env: process.env });
  await client.connect(transport);
  return client;
}
