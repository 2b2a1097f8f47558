// An agent on the MCP TypeScript SDK: starts a run and does its agent steps until none is left, then prints the run view.
// Usage: AP_KEY=… node agent.mjs URL PROCESS INPUTS
import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, process_, inputs] = process.argv.slice(2);
const client = new Client({ name: "agent", version: "1.0.0" });
await client.connect(
  new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers: { Authorization: `Bearer ${process.env.AP_KEY}` } } }),
);

async function call(name, args) {
  const result = await client.callTool({ name, arguments: args });
  const answer = result.structuredContent;
  if (JSON.stringify(answer) !== JSON.stringify(JSON.parse(result.content[0].text))) throw new Error(`${name}: text and structured content differ`);
  if (!answer.ok) throw new Error(`${name}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

const samples = { string: "a text", number: 12.5, boolean: true, date: "2026-10-06", datetime: "2026-10-06T09:00:00Z", list: [], object: {}, person: "mira@example.com" };
function value(field) {
  const type = typeof field === "string" ? field : field.type;
  return field.one_of ? field.one_of[0] : samples[type];
}

const { tools } = await client.listTools(); // which also makes the SDK check results against their schemas
if (tools.length !== 14) throw new Error(`${tools.length} tools`);
const started = await call("start_run", { process: process_, inputs: JSON.parse(inputs), requestId: randomUUID() });
for (;;) {
  const { items } = await call("get_work", { process: process_ });
  if (items.length === 0) break;
  const claim = await call(items[0].claim.tool, { ...items[0].claim.arguments, requestId: randomUUID() });
  const submission = { token: claim.token, output: {}, summary: "Done by a script.", requestId: randomUUID() };
  for (const [name, field] of Object.entries(claim.step.output ?? {})) submission.output[name] = value(field);
  if (claim.step.evidence?.includes("file")) {
    const contentBase64 = Buffer.from("what was found").toString("base64");
    const { id } = await call("upload", { fileName: "found.txt", contentType: "text/plain", contentBase64, requestId: randomUUID() });
    submission.evidence = [{ kind: "file", ref: id }];
  }
  if (claim.step.evidence?.includes("link")) (submission.evidence ??= []).push({ kind: "link", ref: "https://example.com/" });
  if (claim.step.next) Object.assign(submission, { next: claim.step.next[0].to, reason: "It is the first." });
  await call("submit", submission);
}
console.log(JSON.stringify(await call("get_run", { runId: started.run.id })));
await client.close();
