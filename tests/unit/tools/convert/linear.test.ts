// The readers of Caddy, HAProxy and Traefik take time in proportion to a file, whatever is in it. docs/migrate.md
import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { planOf, recognise } from "../../../../src/tools/convert/convert.ts";
import { Draft } from "../../../../src/tools/convert/draft.ts";
import { ConvertFault } from "../../../../src/tools/convert/statement.ts";

const BYTES = 150_000;
/** A reader whose time grows with the square of this takes a hundred times as long. */
const LIMIT_MS = 4000;
// The time of the processor is limited: a busy machine takes longer.
setDefaultTimeout(60_000);

const filled = (unit: string): string => unit.repeat(Math.ceil(BYTES / unit.length)).slice(0, BYTES);
const router = (rule: string): string =>
  `http:\n  routers:\n    a:\n      rule: ${JSON.stringify(rule)}\n      service: s\n  services: {s: {loadBalancer: {servers: [{url: "http://h:1"}]}}}\n`;
const frontend = (...lines: readonly string[]): string =>
  `frontend f\n  mode http\n  bind :80\n${lines.map((line) => `  ${line}\n`).join("")}  default_backend b\nbackend b\n  server s h:1\n`;
const site = (...lines: readonly string[]): string => `:80 {\n${lines.map((line) => `\t${line}\n`).join("")}}\n`;

function holds(product: "caddy" | "haproxy" | "traefik", text: string): void {
  const start = process.cpuUsage();
  recognise("-", text);
  try {
    const plan = planOf(product, product === "traefik" ? "x.yml" : "x", text);
    const draft = new Draft(plan, "x");
    draft.routesText();
    draft.configText();
  } catch (error) {
    expect(error).toBeInstanceOf(ConvertFault);
  }
  const { user, system } = process.cpuUsage(start);
  expect((user + system) / 1000).toBeLessThan(LIMIT_MS);
}

describe("Traefik", () => {
  const units = [
    "`",
    '"',
    "\\",
    "(",
    "!",
    "a",
    " ",
    "&&",
    "||",
    "{a",
    ",",
    "Host(`a`)||",
    "Host(`a`)&&",
    "!Host(`a`)&&",
  ];
  test.each(units)("a rule of %s", (unit) => holds("traefik", router(filled(unit))));
  test.each([
    `Host(${filled("`a.b`,")}\`c\`)`,
    `HostRegexp(\`^.+\\.${filled("a.")}!\`)`,
    `HostRegexp(\`${filled("[a")}\`)`,
    `PathRegexp(\`^/${filled("a-/")}(\`)`,
    `PathPrefix(\`${filled("/a")}\`)`,
    `PathPrefix(\`${filled("/")}x\`)`,
  ])("a rule with long values", (rule) => holds("traefik", router(rule)));
});

describe("HAProxy", () => {
  test.each(["%[", "%[a", "%", "]", "%[path"])("a format of %s", (unit) =>
    holds("haproxy", frontend(`http-request set-header X "${filled(unit)}"`)),
  );
  test.each(["a", ",lower", "(", "a.", ",", ")"])("a test with %s", (unit) =>
    holds("haproxy", frontend(`acl x hdr(host)${filled(unit)} a`, "http-request deny if x")),
  );
  test.each(["{ src 10.0.0.1 } or ", "!{ src 10.0.0.1 } ", "{ ", "!{ a ", "! ", "|| "])("a condition of %s", (unit) =>
    holds("haproxy", frontend(`http-request deny if ${filled(unit)}`)),
  );
  test.each([
    `path_reg ^${filled("/a")}!`,
    `path_beg ${filled("/")}x`,
    `path ${filled("/a ")}`,
    `path_end ${filled(".a ")}`,
  ])("values of a path", (text) => holds("haproxy", frontend(`http-request deny if { ${text} }`)));
  test("blank lines, and a redirect of slashes", () => {
    holds("haproxy", filled("\n"));
    holds("haproxy", frontend(`http-request redirect prefix ${filled("/")}x`));
  });
});

describe("Caddy", () => {
  const units = [
    "a",
    "\\",
    "\\\n",
    "<<a\n",
    "<<a ",
    '"',
    '"\\',
    "`",
    "#",
    "{$",
    "{$a",
    "{$a:",
    "{",
    " ",
    "\n",
    "{args",
    "*",
    "{a",
    "/",
  ];
  test.each(units)("words of %p", (unit) => {
    holds("caddy", filled(unit));
    holds("caddy", site(`respond ${filled(unit)}`));
    const plain = filled(unit).replace(/["\\\n]/g, "");
    holds("caddy", site(`respond "/${plain}" 403`, "reverse_proxy h:1"));
  });
  test.each([
    site("root * /srv", `file_server {\n\t\thide ${filled("*a")} ${filled("a ")}\n\t}`),
    site(`@a path_regexp ^${filled("/a")}!`, "respond @a 403", "reverse_proxy h:1"),
    site(`reverse_proxy h:1 {\n\t\thealth_interval ${filled("1s")}x\n\t}`),
    site(`reverse_proxy ${filled(":")} ${filled("1-")} ${filled("/")}`),
    `${filled("a,")} {\n\trespond a\n}\n`,
  ])("long values", (text) => holds("caddy", text));
});
