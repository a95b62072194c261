// Asks for answers by their number and prints what node:http makes of each: node node.mjs PORT FIRST COUNT
import { createHash } from "node:crypto";
import { Agent, request } from "node:http";

const [port, first, count] = process.argv.slice(2).map(Number);
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const lines = [];

for (let n = first; n < first + count; n++) {
  const answer = await ask(n % 4 === 3 ? "HEAD" : "GET", `/node/answer?n=${n}`);
  const canary = await ask("GET", `/node/canary?n=${n}`);
  lines.push(JSON.stringify({ n, ...answer, canary: canary.text === `canary ${n}` }));
  if (lines.length === 100) console.log(lines.splice(0).join("\n"));
}
if (lines.length > 0) console.log(lines.join("\n"));
agent.destroy();

function ask(method, path) {
  return new Promise((resolve) => {
    const refused = (error) =>
      resolve({ status: 0, error: String(error.code ?? error), cut: false, body: "", fields: [] });
    const options = { host: "127.0.0.1", port, path, method, agent, timeout: 10_000 };
    const asked = request(options, (response) => {
      const parts = [];
      const { statusCode: status, rawHeaders: raw } = response;
      const fields = [];
      for (let i = 0; i < raw.length; i += 2)
        fields.push(`${raw[i].toLowerCase()}: ${raw[i + 1].replace(/^[ \t]+|[ \t]+$/g, "")}`);
      const done = (cut) => {
        const bytes = Buffer.concat(parts);
        const body = cut ? "" : createHash("sha256").update(bytes).digest("hex");
        resolve({ status, cut, body, fields, text: bytes.toString("latin1"), error: "" });
      };
      response.on("data", (part) => parts.push(part));
      response.on("end", () => done(!response.complete));
      response.on("error", () => done(true));
    });
    asked.on("error", refused);
    asked.on("timeout", () => asked.destroy(new Error("timeout")));
    asked.end();
  });
}
