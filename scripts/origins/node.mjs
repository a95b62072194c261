// A real origin on node:http: node scripts/origins/node.mjs [port]
// GET /health, GET /canary, and an echo of every other request as JSON; ./start says more.
import { createHash } from "node:crypto";
import { createServer } from "node:http";

const NAME = "node";
const MAX_HEAD_BYTES = 1024 * 1024;
/** Larger contents do not go into the head of the response to a HEAD. */
const MAX_IN_HEAD = 16 * 1024;
const counts = { requests: 0, sequence: 0 };

// No limit of its own on time and size: what is refused here has been refused for its syntax.
const server = createServer({ maxHeaderSize: MAX_HEAD_BYTES, requestTimeout: 0, headersTimeout: 0 }, answer);
server.keepAliveTimeout = 600_000;
server.maxHeadersCount = 0;
server.on("error", (error) => {
  console.log(`${NAME}: ${error.message}`);
  process.exit(1);
});
server.listen(Number(process.argv[2] ?? 9001), "127.0.0.1", () => {
  console.log(`${NAME}: http://127.0.0.1:${server.address().port}`);
});

function answer(request, response) {
  const hash = createHash("sha256");
  let length = 0;
  request.on("data", (bytes) => {
    hash.update(bytes);
    length += bytes.length;
  });
  // Only what came whole is counted and answered.
  request.on("end", () => send(request, response, length, hash.digest("hex")));
}

function send(request, response, length, sha256) {
  counts.requests++;
  const isHead = request.method === "HEAD";
  const content = Buffer.from(JSON.stringify(contentFor(request, length, sha256)));
  response.writeHead(200, {
    "Content-Type": "application/json",
    "Content-Length": content.length,
    "X-Origin": NAME,
    "X-Origin-Request": counts.requests,
    ...(isHead && content.length < MAX_IN_HEAD ? { "X-Origin-Head": content.toString("base64") } : {}),
  });
  response.end(isHead ? "" : content);
}

function contentFor(request, length, sha256) {
  const path = request.url.split("?", 1)[0];
  if (path === "/health") return { status: "ok" };
  const canary = path === "/canary" ? { status: "canary_ok", sequence: ++counts.sequence } : {};
  const headers = fieldsOf(request.rawHeaders);
  const trailers = fieldsOf(request.rawTrailers);
  return { ...canary, method: request.method, target: request.url, headers, trailers, length, sha256 };
}

// Lower-case names; a list where a name came several times.
function fieldsOf(raw) {
  const fields = Object.create(null);
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i].toLowerCase();
    const value = raw[i + 1];
    fields[name] = name in fields ? [fields[name], value].flat() : value;
  }
  return fields;
}
