// Works two runs of new-supplier with the TypeScript SDK's client: node agent.mjs URL, the key in AP_KEY. Every result is
// checked by the SDK against the schema that the tool publishes. It prints what it saw as one JSON document.
import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const transport = new StreamableHTTPClientTransport(new URL(process.argv[2]), {
  requestInit: { headers: { Authorization: `Bearer ${process.env.AP_KEY}` } },
});
const client = new Client({ name: "foreign-agent", version: "1.0.0" });
await client.connect(transport);
const { tools } = await client.listTools(); // from now on the client validates results against the output schemas
assert.match(client.getInstructions(), /get_work/);
await client.ping();

async function ask(name, args) {
  const result = await client.callTool({ name, arguments: args });
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  assert.equal(result.isError ?? false, !result.structuredContent.ok);
  return result.structuredContent;
}

async function call(name, args) {
  const answer = await ask(name, args);
  assert.ok(answer.ok, `${name}: ${JSON.stringify(answer.error)}`);
  return answer.data;
}

async function refused(name, args) {
  const answer = await ask(name, args);
  assert.ok(!answer.ok, `${name} was not refused`);
  return answer.error;
}

// The first run goes to the approver, over a submission that isn't accepted.
const started = await call("start_run", {
  process: "new-supplier", inputs: { supplier: "Lindwurm", country: "AT", yearlySpend: 48000.5 }, requestId: randomUUID(),
});
const { items } = await call("get_work", { limit: 20 });
assert.equal(items.length, 1);
assert.equal(items[0].claim.tool, "claim");
const claim = await call("claim", { ...items[0].claim.arguments, requestId: randomUUID() });
assert.deepEqual(claim.step.evidence, ["file"]);
const bytes = Buffer.from("Lindwurm Pumpen GmbH, since 1987. \u2713\n");
const upload = { fileName: "report \u2713.txt", contentType: "text/plain", contentBase64: bytes.toString("base64"), requestId: randomUUID() };
const file = await call("upload", upload);
assert.deepEqual(await call("upload", upload), file, "the same call again is the same file");
const first = { token: claim.token, output: { registeredName: "Lindwurm Pumpen GmbH", risk: "none" }, summary: "Checked.", requestId: randomUUID() };
const notAccepted = await refused("submit", first);
const submission = {
  token: claim.token, output: { registeredName: "Lindwurm Pumpen GmbH", risk: "low", foundedYear: 1987, openQuestions: ["Who owns it?"] },
  evidence: [{ kind: "file", ref: file.id }], summary: "Checked the register.", next: "approval", reason: "Nothing rules it out.", requestId: randomUUID(),
};
const submitted = await call("submit", submission);
assert.deepEqual(await call("submit", submission), submitted, "the same call again has the same answer");
const waiting = await call("get_run", { runId: started.run.id });
const evidence = waiting.data.steps.research.evidence[0];
const served = await fetch(evidence.url);
assert.deepEqual(Buffer.from(await served.arrayBuffer()), bytes);
const item = waiting.workItems[0];
const decide = await refused("decide", { runId: started.run.id, workItemId: item.id, snapshot: item.snapshot, decision: "approved", requestId: randomUUID() });
const unknown = await refused("get_run", { runId: "no-such-run" });

// The second takes the route that ends it.
const second = await call("start_run", { process: "new-supplier", inputs: { supplier: "Gone", country: "XX", yearlySpend: 1 }, requestId: randomUUID() });
const again = await call("claim", { runId: second.run.id, stepId: "research", requestId: randomUUID() });
const ended = await call("submit", {
  token: again.token, output: { registeredName: "Gone Ltd", risk: "high" }, evidence: [{ kind: "file", ref: file.id }],
  summary: "On the sanctions list.", next: "declined", reason: "Under sanctions.", requestId: randomUUID(),
});
await client.close();
console.log(JSON.stringify({
  tools: tools.map((t) => t.name), run: started.run.id, startedBy: started.run.startedBy, fileBytes: file.bytes, notAccepted, decide, unknown,
  state: submitted.run.state, disposition: served.headers.get("content-disposition"), second: second.run.id, outcome: ended.run.outcome,
}));
