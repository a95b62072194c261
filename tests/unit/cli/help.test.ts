import { describe, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startCommand } from "../../../src/cli/flags.ts";
import { anchorOf } from "../../../src/cli/help/anchor.ts";
import { DocPages } from "../../../src/cli/help/doc-pages.ts";
import {
  detailHeading,
  detailText,
  HelpTopics,
  innerNames,
  keyText,
  refusalText,
} from "../../../src/cli/help/help-topics.ts";
import { pageOfKey } from "../../../src/cli/help/key-pages.ts";
import { runHelp } from "../../../src/cli/help/run-help.ts";
import { listing } from "../../../src/cli/main.ts";
import { FAULT_DETAILS, isOfOrigin } from "../../../src/core/fault-detail-rows.ts";
import { FAULTS } from "../../../src/core/fault-rows.ts";
import { ERROR_GUIDE } from "../../../src/help/error-guide.ts";
import type { ListedKey } from "../../../src/loading/key-list.ts";

// docs/errors.md and docs/keys.md are derived: `scripts/reference` writes them from the tables.
const DOCS = join(import.meta.dir, "../../../docs");
const WRITTEN = "Written by `scripts/reference` from the source: do not edit.";
const topics = new HelpTopics();
const { keys } = topics;

const PAGES: [string, () => string][] = [
  ["errors.md", errorsPage],
  ["keys.md", keysPage],
];
test.each(PAGES)("docs/%s says what the tables say; scripts/reference writes it", (name, text) => {
  const file = join(DOCS, name);
  if (process.env.EDGE_WRITE_REFERENCE === "1") writeFileSync(file, text());
  expect(readFileSync(file, "utf8")).toBe(text());
});

describe("anchors", () => {
  // As the files are now: those above may just have been written.
  const dead = (places: readonly string[]) => {
    const names = readdirSync(DOCS).filter((name) => name.endsWith(".md"));
    const texts = names.map((name) => [name.slice(0, -3), readFileSync(join(DOCS, name), "utf8")]);
    const pages = new DocPages(Object.fromEntries(texts));
    return [...new Set(places)].filter((place) => pages.find(place) === null);
  };

  test("every refusal is explained", () => {
    const silent = FAULTS.slice(1).filter((row) => row.cause === "" || row.cure === "" || row.page === "");
    expect(silent.map(({ label }) => label)).toEqual([]);
  });

  test("every error, refusal, event, metric, key and rule has a place in docs", () => {
    const all = topics.all();
    expect(all.filter((topic) => topic.pages.length === 0)).toEqual([]);
    expect(dead(all.flatMap((topic) => topic.pages))).toEqual([]);
  });

  test("no two keys, and no two errors, have one anchor", () => {
    for (const page of ["errors.md", "keys.md"]) {
      const anchors = [...readFileSync(join(DOCS, page), "utf8").matchAll(/^#+ (.*)$/gm)].map(([, one]) =>
        anchorOf(one!),
      );
      expect(anchors).toHaveLength(new Set(anchors).size);
    }
  });

  test("every key of a route, and every section, has a page of its subject", () => {
    const isGeneral = ({ path }: ListedKey) => /^(routes\.\w+|server\.\w+|\w+)$/.test(path) && !GENERAL.has(path);
    const without = keys.keys.filter(
      (key) => isGeneral(key) && /^(routing|configuration)\.md$/.test(pageOfKey(key.path)),
    );
    expect(without.map(({ path }) => path)).toEqual([]);
  });

  test("the help of every command names a place in docs", async () => {
    const places = (await listing()).flatMap(({ specs }) => specs.map(({ page }) => `docs/${page}`));
    expect(places.length).toBeGreaterThan(25);
    expect(dead(places)).toEqual([]);
    for (const place of places)
      expect([place, existsSync(join(DOCS, "..", place.replace(/#.*/, "")))]).toEqual([place, true]);
  });
});

describe("every text that help prints fits 80 columns:", () => {
  const wide = (text: string) => text.split("\n").filter((line) => line.length > 80);

  test("of commands, with examples that may be pasted", async () => {
    const specs = (await listing()).flatMap(({ specs }) => specs);
    expect(specs.length).toBeGreaterThan(25);
    for (const spec of specs) {
      let text = "";
      const out = (more: string): void => {
        text += more;
      };
      startCommand(spec, ["--help"], { out, err: out });
      expect([spec.name, text]).toEqual([spec.name, expect.stringContaining("Usage: ")]);
      expect([spec.name, wide(text)]).toEqual([spec.name, []]);
    }
  });

  test("the lists of commands, pages and lines of the log", async () => {
    for (const args of [[], ["pages"], ["log"]]) expect(wide((await help(...args)).out)).toEqual([]);
  });

  test("of names", async () => {
    // Each kind is printed alike; a place that is longer has a line of its own.
    const kinds = new Map(topics.all().map((topic) => [topic.kind.replace(/ [(].*/, ""), topic.name]));
    expect(kinds.size).toBeGreaterThan(5);
    for (const name of [...kinds.values(), "routes.hooks.max_body_bytes"]) {
      const lines = wide((await help(name)).out).filter((line) => /\S /.test(line));
      expect([name, lines]).toEqual([name, []]);
    }
  });
});

describe("edge help", () => {
  test.each<[string, ...string[]]>([
    ["port-in-use", "port-in-use: an error of a command", "Another process listens", "docs/errors.md#port-in-use"],
    ["closed_before_head", "closed_before_head: a cause of a 502", "Read the log of your origin", "#debug-a-502"],
    [
      "tls_verify:expired",
      "tls_verify:expired: a cause of a 502",
      "Renew it",
      "docs/errors.md#tls_verifyexpired-of-an-origin",
    ],
    ["waf_blocked", "waf_blocked: a refusal", "Status 403", "docs/waf.md#false-positives"],
    ["config_reload", "config_reload: an event of the log", "fix what faults names", "docs/events.md#config_reload"],
    ["gateway_requests_total", "gateway_requests_total: a metric", "by method, code, path", "docs/metrics.md#"],
    ["SQLI-001", "SQLI-001: a rule of the firewall", "adds", "docs/waf.md#rules"],
    ["server.tls.port", "server.tls.port: a key of config.yaml", "Default: 8443", "docs/tls.md"],
    ["tls.port", "server.tls.port: a key of config.yaml", "Default: 8443", "docs/keys.md#servertlsport"],
    ["routes.auth.jwt.issuer", "server.auth.jwt.issuer: a key", "Type: string", "docs/authentication.md#tokens"],
    ["routes[3].target", "routes.target: a key of routes.yaml", "Type: string", "docs/upstreams.md#targets"],
  ])("explains %s", async (name, ...parts) => {
    const { code, out, err } = await help(name);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    for (const part of parts) expect(out).toContain(part);
  });

  test("of a status lists every cause of it, with its cure", async () => {
    const { code, out } = await help("502");
    const flat = out.replace(/\s+/g, " ");
    expect([code, flat]).toEqual([0, expect.stringMatching(/^502: Bad Gateway, a status of responses/)]);
    for (const { label, cure, fault } of FAULT_DETAILS.slice(1)) {
      if (FAULTS[fault]!.status !== 502) continue;
      expect(flat).toContain(`${label}: `);
      expect(flat).toContain(cure.replaceAll("`", ""));
    }
    expect(flat).toContain("docs/troubleshooting.md#debug-a-502");
    for (const status of [...new Set(FAULTS.map((row) => row.status))]) {
      if (status === 0) continue;
      const { out: text } = await help(String(status));
      for (const row of FAULTS.slice(1))
        if (row.status === status && !isOfOrigin(FAULTS.indexOf(row))) expect(text).toContain(row.label);
    }
  });

  test("prints everything that has a name", async () => {
    const { out } = await help("spool_failed");
    expect(out).toContain("spool_failed: a refusal");
    expect(out).toContain("spool_failed: an event of the log");
  });

  test("of the end of several keys, and of words, prints at most ten lines: what is about them, then the keys", async () => {
    const keys = await help("max_body_bytes");
    expect([keys.code, keys.out]).toEqual([0, expect.stringMatching(/^edge help server\.max_body_bytes {2}/)]);
    expect(keys.out).toContain("edge help routes.max_body_bytes  ");
    const words = await help("timeout");
    expect(words.out).toMatch(/^edge help upstreams#time-limits +Set how long .*\nedge help \S+\.timeout /);
    for (const { out } of [keys, words, await help("basic", "auth"), await help("basic auth")]) {
      const lines = out.trimEnd().split("\n");
      expect(lines.length).toBeLessThanOrEqual(10);
      for (const line of lines) expect(line).toMatch(/^edge help \S+/);
      expect(lines.filter((line) => line.length > 80)).toEqual([]);
    }
  });

  test("of several words that are one name explains it", async () => {
    expect((await help("port", "in", "use")).out).toStartWith("port-in-use: an error of a command");
  });

  test.each<[string[], number, string]>([
    [["502"], 0, "502"],
    [["port-in-use"], 0, "port-in-use"],
    [["tls#redirect"], 0, "tls#redirect"],
    [["check"], 0, "check"],
    [["zzz"], 2, ""],
  ])("as JSON, of %j", async (words, code, name) => {
    const said = await help("--json", ...words);
    expect([said.code, said.err]).toEqual([code, ""]);
    const { found, words: echoed } = JSON.parse(said.out);
    expect([echoed, found[0]?.name ?? ""]).toEqual([words.join(" "), name]);
    for (const one of found)
      expect(one).toEqual(expect.objectContaining({ kind: expect.any(String), text: expect.any(String) }));
  });

  test("prints pages and sections of pages", async () => {
    expect((await help("tls")).out).toBe(readFileSync(join(DOCS, "tls.md"), "utf8"));
    expect((await help("docs/tls.md")).out).toBe(readFileSync(join(DOCS, "tls.md"), "utf8"));
    const section = (await help("docs/tls.md#redirect")).out;
    expect(section).toStartWith("## Redirect\n");
    expect(section.match(/^## /gm)).toHaveLength(1);
    expect((await help("tools.md#verdict")).out).toStartWith("### Verdict");
    expect((await help("pages")).out).toContain("  tls ");
  });

  test("leads to the help of a command", async () => {
    expect(await help("check")).toEqual({ code: 7, out: "help of check", err: "" });
  });

  test.each([
    ["port-in-us", "port-in-use"],
    ["servr.tls.port", "server.tls.port"],
    ["quickstrat", "quickstart"],
    ["sttaus", "status"],
  ])("of %s names what is near, and leaves with 2", async (typed, meant) => {
    const { code, out, err } = await help(typed);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`"${typed}" (did you mean "${meant}"?)`);
  });

  test.each(["tls.md#none", "docs/../LICENSE", "#", ".", "hasOwnProperty", "__proto__", "xyzzy plugh"])(
    "of %s, which neither a page nor a name nor a word is, leaves with 2",
    async (words) => {
      expect(await help(...words.split(" "))).toEqual({
        code: 2,
        out: "",
        err: expect.stringContaining("nothing has"),
      });
    },
  );

  test.each(["check xyzzy", "waf tset", "log xyzzy"])("of %s names the word that is too many", async (words) => {
    const said = await help(...words.split(" "));
    expect(said).toEqual({ code: 2, out: "", err: expect.stringContaining("unexpected argument") });
  });

  test("without a name, and by its own name, lists the commands", async () => {
    for (const args of [[], ["help"]]) expect((await help(...args)).out).toContain("  status ");
    expect((await help("--help")).out).toContain("Usage: edge help");
  });
});

/** Keys that the pages on routing and on the configuration are about. */
const GENERAL: ReadonlySet<string> = new Set(["server", "server.host", "server.port", "routes.type"]);

async function help(...args: string[]) {
  const said = { out: "", err: "" };
  const io = {
    out: (text: string): void => {
      said.out += text;
    },
    err: (text: string): void => {
      said.err += text;
    },
  };
  const list = (await listing()).map(({ name, summary }) => [name, summary] as const);
  const known = new Set(list.map(([name]) => name));
  const code = await runHelp(args, io, {
    list,
    help(name) {
      if (!known.has(name) || name === "help") return null;
      return () => {
        io.out(`help of ${name}`);
        return 7;
      };
    },
  });
  return { code, ...said };
}

function errorsPage(): string {
  const errors = Object.entries(ERROR_GUIDE).map(
    ([name, { cause, cure, page }]) =>
      `### ${name}\n\n${cause}\n\n**What you can do.** ${cure}\n\nMore: ${linkTo(page)}.\n`,
  );
  const refusals = FAULTS.slice(1).map(
    ({ label, status, message, close, cause, cure, page }) =>
      `### ${label}\n\n${refusalText(status, message, close)}\n\n${cause}\n\n**What you can do.** ${cure}\n\nMore: ${linkTo(page)}.\n`,
  );
  const details = FAULT_DETAILS.slice(1).map(
    (row) => `### ${detailHeading(row)}\n\n${detailText(row)}\n\n${row.cause}\n\n**What you can do.** ${row.cure}\n`,
  );
  return `# Errors and refusals

${WRITTEN} What can go wrong, why, and what to do: errors of the commands, and refusals that clients see. \`edge help NAME\` prints each of
them. Mistakes in the two files name their key ([keys.md](keys.md)), lines of the log their event ([events.md](events.md)).

## Errors of the commands

Where a command ends with one of them, its last line names it: \`More: edge help port-in-use\`. The exit code is 1, of wrong usage 2.

${errors.join("\n")}
## Refusals

What ends a request or a connection: the name is in \`fault\` of access lines, in \`reason\` of events, and in labels of metrics.

${refusals.join("\n")}
## Causes of a 502 or 504

Why an attempt at an origin has failed: the name is in \`fault_detail\` of access lines and of \`upstream_failed\`, and in the dashboard's rows.
More: [Debug a 502](troubleshooting.md#debug-a-502).

${details.join("\n")}`;
}

function keysPage(): string {
  const [config, routes] = (["config.yaml", "routes.yaml"] as const).map((file) =>
    keys.keys
      .filter((key) => key.file === file)
      .map(keySection)
      .join("\n"),
  );
  return `# Keys

${WRITTEN} Every key of \`config.yaml\` and \`routes.yaml\`: its type, its default, and the page about its subject. Names leave out
entries of lists: \`server.tls.certificates.cert_file\` is a key of each certificate, \`routes.target\` of each route. \`edge help NAME\` prints one
key, \`edge help config\` and \`edge help routes\` print a whole file as YAML. Durations, sizes and \`\${NAME}\`: [configuration.md](configuration.md#values).

## config.yaml

${config}
## routes.yaml

${routes}`;
}

function keySection(key: ListedKey): string {
  const { path, types } = key;
  const of = types.length === 0 ? "" : `\n\nIn routes of the type ${types.map((type) => `\`${type}\``).join(", ")}.`;
  const inner = innerNames(keys, path);
  const same = keys.sameAs(path);
  const below =
    inner === ""
      ? ""
      : same === ""
        ? `\n\nKeys in it: ${linkedNames(path, inner)}.`
        : `\n\nKeys in it: those of [${same}](#${anchorOf(same)}).`;
  return `### ${path}\n\n${keyText(key)}${of}${below}\n\nMore: ${linkTo(pageOfKey(path))}.\n`;
}

function linkedNames(path: string, names: string): string {
  return names.replace(/`([^`]+)`/g, (_, name: string) => `[\`${name}\`](#${anchorOf(`${path}.${name}`)})`);
}

function linkTo(page: string): string {
  return `[${page.replace(/#.*/, "")}](${page})`;
}
