// The entry of scripts/proof: runs every suite of others that is here, or those that are named, and takes the figures of docs/proof.md anew.
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { runProcess } from "../harness/run-process.ts";
import { versionIn, versionOf, versionOfPage } from "./suite-page.ts";

/** A suite of others, as one script runs it. */
interface Suite {
  readonly title: string;
  readonly script: string;
  /** Where its checkout comes from, and a file that it has; null for a suite that needs none. */
  readonly checkout: {
    readonly repository: string;
    readonly mark: string;
    /** The package of Python, if the folder is a virtual environment in the place of a clone. */
    readonly package?: string;
  } | null;
  /** Its page in tests/conformance/results, of which docs/proof.md has a row; null for a script that writes none. */
  readonly page: string | null;
}

const SUITES: readonly Suite[] = [
  {
    title: "nginx-tests, converted by `edge convert`",
    script: "conformance-nginx",
    checkout: { repository: "nginx/nginx-tests", mark: "lib/Test/Nginx.pm" },
    page: "nginx-tests",
  },
  {
    title: "HAProxy's reg-tests, converted by `edge convert`, by file",
    script: "conformance-haproxy",
    checkout: { repository: "haproxy/haproxy", mark: "reg-tests/http-rules" },
    page: "haproxy",
  },
  {
    title: "Caddy's integration tests, converted by `edge convert`",
    script: "conformance-caddy",
    checkout: { repository: "caddyserver/caddy", mark: "caddytest/integration/caddyfile_adapt" },
    page: "caddy",
  },
  {
    title: "Traefik's fixtures of Ingresses and cases of labels",
    script: "conformance-traefik",
    checkout: { repository: "traefik/traefik", mark: "pkg/provider/kubernetes/ingress-nginx/kubernetes_test.go" },
    page: "traefik",
  },
  {
    title: "Connect's conformance suite: Connect, gRPC and gRPC-Web over HTTP/1.1, 2 and 3",
    script: "conformance-connect",
    checkout: { repository: "connectrpc/conformance", mark: "cmd/connectconformance" },
    page: "connect",
  },
  {
    title: "REDbot: kinds of responses without a bad note",
    script: "conformance-redbot",
    checkout: { repository: "mnot/redbot", mark: "bin/redbot", package: "redbot" },
    page: "redbot",
  },
  {
    title: "SSLyze: checks of a listener with TLS",
    script: "conformance-sslyze",
    checkout: { repository: "nabla-c0d3/sslyze", mark: "bin/sslyze", package: "sslyze" },
    page: "sslyze",
  },
  {
    title: "testssl.sh: findings",
    script: "conformance-testssl",
    checkout: { repository: "testssl/testssl.sh", mark: "testssl.sh" },
    page: "testssl",
  },
  {
    title: "tlsfuzzer: conversations of its scripts for servers with AEAD suites",
    script: "conformance-tlsfuzzer",
    checkout: { repository: "tlsfuzzer/tlsfuzzer", mark: "scripts/test-tls13-conversation.py" },
    page: "tlsfuzzer",
  },
  {
    title: "W3C trace-context, level 2, strict",
    script: "conformance-trace-context",
    checkout: { repository: "w3c/trace-context", mark: "test/tracecontext/traceparent.py" },
    page: "trace-context",
  },
  {
    title: "structured fields of the HTTP working group",
    script: "conformance-structured-fields",
    checkout: { repository: "httpwg/structured-field-tests", mark: "param-dict.json" },
    page: "structured-fields",
  },
  {
    title: "JSONTestSuite",
    script: "conformance-json",
    checkout: { repository: "nst/JSONTestSuite", mark: "test_parsing" },
    page: null,
  },
  {
    title: "Web Platform Tests for functions",
    script: "conformance-web",
    checkout: { repository: "web-platform-tests/wpt", mark: "fetch/api" },
    page: null,
  },
  { title: "h2spec", script: "conformance-h2spec", checkout: null, page: null },
  { title: "HTTP cache tests", script: "conformance-cache", checkout: null, page: null },
];

/** Counts of a page that together are all its assertions. */
const COUNTED: readonly string[] = ["passed", "failed", "closed by convert", "not reached", "skipped by the suite"];

const PROJECT = resolve(import.meta.dir, "..", "..");
const PAGE = join(PROJECT, "docs", "proof.md");
const [BEGIN, END] = ["<!-- suites -->", "<!-- /suites -->"];

/** Within an hour a suite has ended or never will. */
const SUITE_MS = 3_600_000;

/** With it, a checkout of another version than that of the page writes the page of its own. */
const ANY_VERSION = "--any-version";

const folder = resolve(process.argv[2] ?? "");
const words = process.argv.slice(3);
const isAnyVersion = words.includes(ANY_VERSION);
const chosen = words
  .filter((word) => word !== ANY_VERSION)
  .map((name) => name.replace(/^(?:scripts\/)?(?:conformance-)?/, "conformance-"));
const unknown = chosen.filter((name) => !SUITES.some(({ script }) => script === name));
if (unknown.length > 0) {
  process.stderr.write(
    `no such suite: ${unknown.join(", ")}; there are ${SUITES.map((one) => one.script).join(", ")}\n`,
  );
  process.exit(2);
}
const wanted = SUITES.filter(({ script }) => chosen.length === 0 || chosen.includes(script));
let missing = 0;
let failed = 0;
for (const { title, script, checkout, page } of wanted) {
  const path = checkout === null ? null : join(folder, checkout.repository.split("/")[1]!);
  if (checkout !== null && path !== null && !existsSync(join(path, checkout.mark))) {
    missing++;
    process.stdout.write(`missing: ${title}: no ${checkout.mark} in ${path}, ${cureOf(checkout, path)}\n`);
    continue;
  }
  const other =
    checkout === null || path === null || page === null || isAnyVersion ? null : otherVersion(page, checkout, path);
  if (other !== null) {
    missing++;
    process.stdout.write(`another version: ${title}: ${other}, ${ANY_VERSION} takes its figures anew\n`);
    continue;
  }
  const begun = performance.now();
  const before = page === null ? 0 : changedAt(page);
  const run = await runProcess([join(PROJECT, "scripts", script), ...(path === null ? [] : [path])], {
    timeout: SUITE_MS,
  });
  process.stderr.write(run.stderr);
  const [output, code] = [run.stdout.trim(), run.code];
  // A suite that wrote nothing has shown nothing.
  const isWritten = page === null ? output !== "" : changedAt(page) > before;
  const isGood = code === 0 && isWritten;
  if (!isGood) failed++;
  const how = isGood ? "ran" : code !== 0 ? `ended with ${code}` : "wrote no figures";
  const seconds = Math.round((performance.now() - begun) / 1000);
  process.stdout.write(`${how} in ${seconds} s: ${title}: ${output.split("\n").at(-1)}\n`);
}
writeRows();
process.stdout.write(
  `${wanted.length - missing} suites ran, ${failed} ended with a fault, ${missing} missing or of another version\n`,
);
process.exit(failed + missing === 0 ? 0 : 1);

/** How a suite comes into its folder. */
function cureOf(checkout: NonNullable<Suite["checkout"]>, path: string): string {
  return checkout.package === undefined
    ? `clone https://github.com/${checkout.repository}`
    : `python3 -m venv ${path} && ${path}/bin/pip install ${checkout.package}`;
}

/** The versions of a checkout and of the page of its figures, if these are two; null for one. */
function otherVersion(page: string, checkout: NonNullable<Suite["checkout"]>, path: string): string | null {
  const own = checkout.package === undefined ? versionOf(path) : versionIn(path, checkout.package);
  const known = versionOfPage(page);
  return known === null || known === own ? null : `${path} is ${own}, the page is of ${known}`;
}

/** When a page was written; 0 for one that is not there. */
function changedAt(page: string): number {
  const path = join(import.meta.dir, "results", `${page}.md`);
  return existsSync(path) ? statSync(path).mtimeMs : 0;
}

/** Writes the rows of docs/proof.md that come of pages, as far as the pages are there. */
function writeRows(): void {
  const rows = SUITES.flatMap(({ title, script, checkout, page }) => {
    const path = join(import.meta.dir, "results", `${page}.md`);
    if (page === null || !existsSync(path)) return [];
    const text = readFileSync(path, "utf8");
    const count = (label: string): number =>
      Number((new RegExp(`^- ${label}: ([\\d,]+)$`, "m").exec(text)?.[1] ?? "0").replaceAll(",", ""));
    const all = COUNTED.reduce((sum, label) => sum + count(label), 0);
    const shown = (n: number): string => n.toLocaleString("en-US");
    const command = `\`scripts/${script}${checkout === null ? "" : checkout.package === undefined ? " CHECKOUT" : " FOLDER"}\``;
    return [
      `| ${title}: passed, of ${shown(all)} | ${shown(count("passed"))} | | ${command} ([table](../tests/conformance/results/${page}.md)) |`,
    ];
  });
  const text = readFileSync(PAGE, "utf8");
  const from = text.indexOf(BEGIN);
  const to = text.indexOf(END);
  if (from < 0 || to < 0) throw new Error(`docs/proof.md has no ${BEGIN}`);
  const head = "| suite | edge | others in the same run | command |\n|---|---:|---|---|";
  writeFileSync(PAGE, `${text.slice(0, from)}${BEGIN}\n${head}\n${rows.join("\n")}\n${text.slice(to)}`);
}
