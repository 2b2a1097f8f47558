// Connects with nothing but the server's URL and a client's id and secret at the identity provider: the TypeScript SDK
// finds the provider by the server's metadata and gets a token there. node discover.mjs URL ID SECRET.
import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, clientId, clientSecret] = process.argv.slice(2);
const authProvider = new ClientCredentialsProvider({ clientId, clientSecret });
const client = new Client({ name: "foreign-robot", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
const started = await client.callTool({ name: "start_run", arguments: {
  process: "new-supplier", inputs: { supplier: "Lindwurm", country: "AT", yearlySpend: 1 }, requestId: randomUUID(),
} });
await client.close();
console.log(JSON.stringify(started.structuredContent));
