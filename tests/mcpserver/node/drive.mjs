// Drives servers by a plan, with the client whose file is named: node drive.mjs v1.mjs FOLDER < plan.json
// FOLDER has the node_modules. What does not hold is said line by line, and makes the exit status 1.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";

const [file, folder] = process.argv.slice(2);
const { connect } = await import(`./${file}`);
const load = createRequire(`${folder}/`);
const plan = JSON.parse(readFileSync(0, "utf8"));
const wrong = [];
let calls = 0;

const at = (data, path) => path.split(".").reduce((found, key) => found?.[key], data);

function filled(value, kept) {
  if (typeof value === "string") return value.startsWith("$") ? kept[value.slice(1)] : value;
  if (Array.isArray(value)) return value.map((one) => filled(one, kept));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, filled(one, kept)]));
}

function check(call, answer, kept) {
  const text = (answer.content ?? []).map((block) => block.text ?? "").join("\n");
  const faults = [];
  if (!text) faults.push("no text");
  // An answer that has no structured content has the same as JSON in its text.
  const data = answer.structuredContent ?? (call.holds || call.keep ? JSON.parse(text) : {});
  if (Boolean(answer.isError) !== Boolean(call.refused)) faults.push(`isError is ${answer.isError}`);
  // Output is in the text or in the structured content.
  const all = answer.structuredContent ? `${text} ${JSON.stringify(answer.structuredContent)}` : text;
  if (!all.includes(call.says ?? "")) faults.push(`the text does not say ${call.says}`);
  for (const [path, value] of Object.entries(call.holds ?? {})) {
    if (!isDeepStrictEqual(at(data, path), value)) faults.push(`${path} is ${JSON.stringify(at(data, path))}, not ${JSON.stringify(value)}`);
  }
  for (const [name, path] of Object.entries(call.keep ?? {})) kept[name] = at(data, path);
  return faults.map((fault) => `${fault}: ${text.slice(0, 500)}`);
}

async function drive(server) {
  const client = await connect(load, server);
  const kept = {};
  try {
    const listed = (await client.listTools()).tools.map((tool) => tool.name);
    if (!isDeepStrictEqual([...listed].sort(), [...server.tools].sort())) wrong.push(`${server.label}: it lists ${listed}`);
    for (const call of server.calls) {
      const answer = await client.callTool({ name: call.tool, arguments: filled(call.arguments, kept) });
      calls += 1;
      wrong.push(...check(call, answer, kept).map((fault) => `${server.label}, ${call.tool}: ${fault}`));
    }
  } finally {
    await client.close();
  }
}

for (const server of plan.servers) {
  await drive(server).catch((error) => wrong.push(`${server.label}: ${error.stack}`));
}
console.log([...wrong, `${calls} calls`].join("\n"));
process.exit(wrong.length ? 1 : 0);
