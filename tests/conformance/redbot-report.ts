// The entry of scripts/conformance-redbot: REDbot reads every kind of response.
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { EchoOrigin } from "../harness/echo-origin.ts";
import { startGateway, upstream } from "../harness/gateway.ts";
import { runProcess } from "../harness/run-process.ts";
import { versionIn, writeSuitePage } from "./suite-page.ts";

/** A note of REDbot about a response. */
interface Note {
  readonly note_id: string;
  readonly level: "GOOD" | "INFO" | "WARN" | "BAD";
  readonly summary: string;
}

const RUN_MS = 40_000;
const LANES = 5;
const LINE = "<p>A line of a page that is worth compressing.</p>\n";

/** What REDbot has against a response, by its note and what was asked; `*` is everything. The first row that fits counts. */
const REASONS: readonly (readonly [note: string, asked: RegExp, reason: string])[] = [
  ["FRESHNESS_HEURISTIC", /./, "habit: no lifetime is set at this route; edge makes none up"],
  ["FRESHNESS_NONE", /./, "habit: no lifetime is set at this route; edge makes none up"],
  ["ACTION_STALE_OK", /./, "habit: no lifetime is set at this route; edge makes none up"],
];

const usage = "scripts/conformance-redbot FOLDER, a virtual environment of Python with redbot";
const program = join(resolve(process.argv[2] ?? ""), "bin", "redbot");
if (process.argv[2] === undefined || !existsSync(program)) {
  process.stderr.write(`no bin/redbot: ${usage}\n`);
  process.exit(2);
}
const origin = EchoOrigin.start();
origin
  .on("/plain", (call) => call.reply("200 OK", ["Content-Type: text/plain", "Cache-Control: max-age=60"], "plain text"))
  .on("/checked", (call) => {
    const isKnown = call.request.fields.get("if-none-match") === '"v1"';
    const head = ["Content-Type: text/html", 'ETag: "v1"', "Cache-Control: max-age=60"];
    call.reply(isKnown ? "304 Not Modified" : "200 OK", head, isKnown ? "" : LINE.repeat(100));
  })
  .on("/broken", (call) => call.reply("500 Internal Server Error", [], "broken"));
const gateway = await startGateway({
  config: { server: { cache: { enabled: true }, compression: { enabled: true }, security_headers: { enabled: true } } },
  routes: [
    { type: "respond", prefix: "/respond", body: "ok" },
    {
      type: "respond",
      prefix: "/json",
      body: '{"a": 1}',
      headers: { response: { set: { "Content-Type": "application/json" } } },
    },
    { type: "static", prefix: "/files", dir: "files", browse: true },
    { type: "redirect", prefix: "/moved", to: "/files/" },
    { type: "redirect", prefix: "/found", to: "/files/", status: 302 },
    { type: "function", prefix: "/function", module: "./function.ts" },
    { type: "respond", prefix: "/guarded", body: "ok", auth: { basic: { users: { a: await hash() } } } },
    upstream("/origin", origin, { strip_prefix: true }),
    upstream("/uncached", origin, { strip_prefix: true, cache: { enabled: false } }),
  ],
  files: {
    "files/page.html": `<!doctype html><title>page</title>\n${LINE.repeat(200)}`,
    "files/data.bin": "x".repeat(20_000),
    "files/list/one.txt": "one",
    "function.ts": 'export default () => new Response("made", { headers: { "Cache-Control": "max-age=60" } });\n',
  },
});
const asked = [
  ...["/respond", "/json", "/files/page.html", "/files/data.bin", "/files/list/", "/files/none", "/moved", "/found"],
  ...["/function", "/guarded", "/origin/plain", "/origin/checked", "/origin/broken", "/uncached/checked", "/nowhere"],
];
const notes: (Note & { readonly asked: string })[] = [];
const silent: string[] = [];
for (let i = 0; i < asked.length; i += LANES) await Promise.all(asked.slice(i, i + LANES).map(ask));
await gateway.stop();
origin.stop();

notes.sort((a, b) => asked.indexOf(a.asked) - asked.indexOf(b.asked));
const level = (wanted: Note["level"]) => notes.filter((note) => note.level === wanted);
writeSuitePage({
  name: "redbot",
  title: "REDbot",
  intro: [
    `What github.com/mnot/redbot says of ${asked.length} kinds of responses: \`scripts/conformance-redbot FOLDER\`, a virtual environment of Python with the package \`redbot\`. REDbot asks`,
    "each resource several times: with other encodings, for parts, and with the validators of the first response. *Passed* are the responses of which it says nothing bad.",
  ].join("\n"),
  version: versionIn(join(program, "..", ".."), "redbot"),
  counts: [
    ["passed", asked.length - new Set([...level("BAD").map((note) => note.asked), ...silent]).size],
    ["failed", new Set(level("BAD").map((note) => note.asked)).size],
    ["not reached", silent.length],
    ["notes that are good", level("GOOD").length],
    ["notes that only inform", level("INFO").length],
    ["warnings", level("WARN").length],
    ["bad", level("BAD").length],
  ],
  columns: ["response", "level", "note", "reason"],
  rows: [...level("BAD"), ...level("WARN")].map((note) => [
    `\`${note.asked}\``,
    note.level.toLowerCase(),
    note.summary,
    REASONS.find(([id, path]) => (id === "*" || id === note.note_id) && path.test(note.asked))?.[2] ??
      "not explained yet",
  ]),
});
process.exit(silent.length === 0 ? 0 : 1);

async function ask(path: string): Promise<void> {
  const url = `http://127.0.0.1:${gateway.port}${path}`;
  // The second response is the cache's, if it has one.
  await fetch(url, { redirect: "manual" }).then((response) => response.bytes());
  const { stdout } = await runProcess([program, "--output-format", "har", url], { timeout: RUN_MS });
  const found = notesIn(stdout);
  if (found.length === 0) silent.push(path);
  for (const note of found) notes.push({ ...note, asked: path });
}

function notesIn(text: string): Note[] {
  const from = text.indexOf("{");
  if (from < 0 || !text.trimEnd().endsWith("}")) return [];
  const { log } = JSON.parse(text.slice(from)) as { log: { entries: { _red_messages?: Note[] }[] } };
  return log.entries.flatMap((entry) => entry._red_messages ?? []);
}

function hash(): Promise<string> {
  return Bun.password.hash("pw", { algorithm: "bcrypt", cost: 4 });
}
