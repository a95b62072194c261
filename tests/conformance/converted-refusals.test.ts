// What Caddy and HAProxy refuse (nginx-refusals.test.ts for nginx), what edge convert makes of their configurations refuses: both run, and are asked the same. docs/migrate.md
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { IS_LONG } from "../harness/long-lane.ts";
import { isInstalled, type Probe, probesFor, runBeside } from "./refusal-run.ts";

/** Configurations in one process, each at a host of its own. */
const SITES = 8;
/** More of them in the long lane, and others each time. */
const ROUNDS = IS_LONG ? Number(process.env.EDGE_TEST_ROUNDS ?? 40) : 2;
const LIMIT_MS = 120_000;

const hosts = Array.from({ length: SITES }, (_, i) => `h${i}.test`);
const lines = (text: string): string => text.replace(/^/gm, "\t");

/** Runs generated bodies, and asserts that nothing is opened. */
async function holds(product: "caddy" | "haproxy", text: string, probes: readonly Probe[]): Promise<number> {
  const { opened, refused, isWellFormed, routes } = await runBeside(product, text, probes);
  if (!isWellFormed) throw new Error(`${product} does not take this:\n${text}\n${routes}`);
  const [first] = opened;
  if (first !== undefined) {
    const host = first.probe.host.split(".")[0]!;
    throw new Error(
      `${JSON.stringify(first)}\n${text}\n${routes
        .split("\n\n")
        .filter((one) => one.includes(host))
        .join("\n")}`,
    );
  }
  return refused;
}

/** As many bodies as there are hosts, the same in each run of a round. */
function bodies(body: fc.Arbitrary<string>, round: number): string[] {
  return fc.sample(body, { numRuns: SITES, seed: IS_LONG ? Date.now() + round : round + 1 });
}

const getOf = (target: string): Probe => ({ method: "GET", host: "h0.test", target, fields: [] });
const oneOf = (...texts: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...texts);

describe.skipIf(!isInstalled("caddy"))("Caddy", () => {
  const matcher = oneOf(
    "path /a/*",
    "path /A*",
    "path /a/b/* /b",
    "path *.php",
    "path *.py *.bak",
    "path /a/*.php",
    "path *b*",
    "path_regexp ^/a/(.*)\\.php$",
    "path_regexp (?i)secret",
    "not path /pub/*",
    "not path /pub/* /a*",
    "not path *.php",
    "remote_ip 127.0.0.0/8",
    "remote_ip 10.0.0.0/8",
    "not remote_ip 10.0.0.0/8",
    "method POST",
    "not method GET",
    "header X-Key 1",
    "header X-Key *",
    "header !X-Key",
    "not header X-Key 1",
    "header_regexp X-Key ^[12]$",
    "query k=1",
    "protocol http",
    'expression `{path}.endsWith(".php")`',
    'not expression `{path}.startsWith("/pub")`',
    "vars {path} /a/x",
    "file",
    "not file",
  );
  const USERS = "{\n\tu $2a$14$Zkx19XLiW6VYouLHR5NmfOFU0z2GTNmpkT/5qqR7hx4IjWJPDhjvG\n}";
  const inner = oneOf(
    "respond 401",
    "respond /b* 403",
    "reverse_proxy 127.0.0.1:ORIGIN",
    "file_server",
    "file_server {\n\thide *.py .git b\n}",
    `basicauth ${USERS}`,
    `basicauth /a/* ${USERS}\nreverse_proxy 127.0.0.1:ORIGIN`,
    "header X-Seen yes",
    "uri strip_prefix /a\nreverse_proxy 127.0.0.1:ORIGIN",
    "uri strip_prefix /a\nrespond /b/* 403\nreverse_proxy 127.0.0.1:ORIGIN",
    "rewrite * /pub/x\nfile_server",
  );
  const directive = fc
    .tuple(matcher, matcher, inner, fc.nat({ max: 99 }), fc.nat({ max: 17 }))
    .map(([one, two, block, id, kind]) => {
      const name = `@m${id}`;
      const isBoth = id % 4 === 0 && one.split(" ")[0] !== two.split(" ")[0];
      const define = isBoth ? `${name} {\n${lines(`${one}\n${two}`)}\n}` : `${name} ${one}`;
      return [
        `${define}\nrespond ${name} 403`,
        `${define}\nabort ${name}`,
        `${define}\nerror ${name} 410`,
        `${define}\nreverse_proxy ${name} 127.0.0.1:ORIGIN`,
        `${define}\nfile_server ${name}`,
        `${define}\nbasicauth ${name} ${USERS}`,
        `${define}\nrewrite ${name} /b`,
        `${define}\nmethod ${name} GET`,
        `${define}\nhandle ${name} {\n${lines(block)}\n}`,
        `${define}\nroute ${name} {\n${lines(block)}\n}`,
        `handle_path /a/* {\n${lines(block)}\n}`,
        `handle /pub/* {\n${lines(block)}\n}`,
        "handle /a* {\n\trespond 403\n}",
        "respond /pub* 403",
        `basicauth /a/* ${USERS}`,
        "rewrite /pub/* /secret/k",
        "uri strip_prefix /pub",
        `${define}\nredir ${name} /r`,
      ][kind]!;
    });
  const last = oneOf(
    "file_server",
    "file_server {\n\thide secret *.bak SITE/a/b\n}",
    "try_files {path} /index.html\nfile_server",
    "reverse_proxy 127.0.0.1:ORIGIN",
    "respond 403",
    "handle {\n\treverse_proxy 127.0.0.1:ORIGIN\n}",
    "",
  );
  const body = fc.tuple(fc.array(directive, { minLength: 1, maxLength: 3 }), last).map(([list, end]) => {
    const seen = new Set<string>();
    // A name is defined once, and one try_files or uri is enough.
    const kept = list.filter((one) => {
      const key = /^(@m\d+|uri|rewrite \/|handle_path|handle \/\S+|basicauth \/|respond \/)/.exec(one)?.[0] ?? one;
      const isNew = !seen.has(key);
      seen.add(key);
      return isNew;
    });
    return ["root * SITE", ...kept, end].join("\n");
  });

  test("of two roots the last one counts", async () => {
    const text =
      "{\n\tadmin off\n\tauto_https off\n}\nhttp://h0.test:PORT {\n\troot * SITE\n\troot * SITE/pub\n\tfile_server\n}\n";
    const probes = ["/x", "/a/x", "/c.py", "/secret/k"].map(getOf);
    expect(await holds("caddy", text, probes)).toBe(3);
  });

  test("a path with a slash at its end is the page of a folder, and none of its files", async () => {
    const sites = ["file_server /a/", "handle / {\n\t\tfile_server\n\t}", "file_server /"].map(
      (own, i) => `http://h${i}.test:PORT {\n\troot * SITE\n\t${own}\n\trespond 403\n}\n`,
    );
    const probes = ["/", "/a/", "/a/x", "/a/b/y", "/b", "/secret/k", "/a/z.php"].flatMap((target) =>
      hosts.slice(0, sites.length).map((host) => ({ ...getOf(target), host })),
    );
    const text = `{\n\tadmin off\n\tauto_https off\n}\n${sites.join("")}`;
    const { opened, differs, routes } = await runBeside("caddy", text, probes, true);
    expect({ opened, differs, routes }).toEqual({ opened: [], differs: [], routes });
  });

  for (let round = 0; round < ROUNDS; round++)
    test(
      `sites of round ${round}`,
      async () => {
        const sites = bodies(body, round).map((one, i) => `http://${hosts[i]}:PORT {\n${lines(one)}\n}`);
        const text = `{\n\tadmin off\n\tauto_https off\n}\n${sites.join("\n")}\n`;
        expect(await holds("caddy", text, probesFor(hosts))).toBeGreaterThanOrEqual(IS_LONG ? 0 : 1);
      },
      LIMIT_MS,
    );
});

describe.skipIf(!isInstalled("haproxy"))("HAProxy", () => {
  const criterion = oneOf(
    "path_beg /a/",
    "path_beg /a",
    "path_beg -i /a/",
    "path_beg /pub/",
    "path /b",
    "path -i /b",
    "path_end .php .py",
    "path_end -i .php",
    "path_reg ^/a/.*[.]php$",
    "path_reg ^/(a|pub)/",
    "path_sub secret",
    "path_dir b",
    "path -m beg /pub",
    "url_beg /a",
    "url_end .php",
    "url_reg [.]php$",
    "src 127.0.0.0/8",
    "src 10.0.0.0/8",
    "METH_POST",
    "METH_GET",
    "method POST PUT",
    "req.hdr(X-Key) 1",
    "req.hdr(X-Key) -m found",
    "req.hdr(X-Key) -m reg ^[12]$",
    "req.cook(k) 1",
    "url_param(k) 1",
    "var(txn.x) -m found",
    "base_reg [.]test/b",
    "path_len 2",
    "ssl_fc",
  );
  const term = fc.tuple(criterion, fc.boolean()).map(([text, isNot]) => {
    // Names that HAProxy itself defines stand without braces.
    const test = text.startsWith("METH_") ? text : `{ ${text} }`;
    return `${isNot ? "!" : ""}${test}`;
  });
  const condition = fc
    .tuple(fc.array(fc.array(term, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }), fc.boolean())
    .map(([groups, isUnless]) => `${isUnless ? "unless" : "if"} ${groups.map((all) => all.join(" ")).join(" or ")}`);
  const action = oneOf(
    "http-request deny",
    "http-request deny",
    "http-request deny deny_status 410",
    "http-request allow",
    "http-request redirect location /r",
    "http-request return status 200",
    "http-request return status 401",
    "http-request set-path /pub/x",
    "http-request set-path /a%[path]",
    "http-request replace-path ^/pub/(.*) /secret/\\1",
    "http-request set-header X-Key 1",
    "http-request del-header X-Key",
    "http-request set-var(txn.x) str(1)",
    "http-request set-method GET",
    "http-request set-src hdr(X-Key)",
    "http-request auth realm r",
  );
  const rule = fc.tuple(action, condition).map(([what, asked]) => `${what} ${asked}`);
  const body = fc.array(rule, { minLength: 1, maxLength: 4 });
  const DEFAULTS =
    "defaults\n  mode http\n  timeout connect 5s\n  timeout client 10s\n  timeout server 10s\n  timeout tarpit 1s\n";

  test("what is between the parentheses of a sample", async () => {
    const rules = [
      "deny if { url_param(k,;) 1 }",
      "deny if { req.cook(k),lower 1 }",
      "deny unless { req.hdr(X-Key,1) 1 }",
      "deny unless { req.fhdr(X-Key,-1) 1 }",
    ];
    const uses = rules.map((_, i) => `  use_backend b${i} if { hdr(host) h${i}.test }\n`).join("");
    const backends = rules.map((rule, i) => `backend b${i}\n  http-request ${rule}\n  server s 127.0.0.1:ORIGIN\n`);
    const text = `${DEFAULTS}frontend f\n  bind 127.0.0.1:PORT\n${uses}${backends.join("")}`;
    const fields = [[], ["Cookie: k=1"], ["X-Key: 1", "X-Key: 2"], ["X-Key: 2", "X-Key: 1"]];
    const probes = hosts
      .slice(0, rules.length)
      .flatMap((host) => fields.map((own) => ({ ...getOf("/x?k=1"), host, fields: own })));
    expect(await holds("haproxy", text, probes)).toBeGreaterThanOrEqual(4);
  });

  for (let round = 0; round < ROUNDS; round++) {
    test(
      `backends of round ${round}`,
      async () => {
        const list = fc.sample(body, { numRuns: SITES, seed: IS_LONG ? Date.now() + round : round + 1 });
        const ways = hosts.map((host, i) => `  use_backend b${i} if { hdr(host) ${host} }`);
        const backends = list.map(
          (rules, i) => `backend b${i}\n${rules.map((one) => `  ${one}`).join("\n")}\n  server s 127.0.0.1:ORIGIN`,
        );
        const text = `${DEFAULTS}frontend f\n  bind 127.0.0.1:PORT\n${ways.join("\n")}\n${backends.join("\n")}\n`;
        expect(await holds("haproxy", text, probesFor(hosts))).toBeGreaterThanOrEqual(IS_LONG ? 0 : 1);
      },
      LIMIT_MS,
    );
    test(
      `a frontend of round ${round}`,
      async () => {
        const [rules = [], ways = []] = fc.sample(body, {
          numRuns: 2,
          seed: IS_LONG ? Date.now() + round : round + 50,
        });
        const uses = ways.map((one, i) => `  use_backend b${i} ${one.slice(one.search(/ (if|unless) /) + 1)}`);
        const backends = [...ways.keys(), 9].map((i) => `backend b${i}\n  server s 127.0.0.1:ORIGIN`);
        const text = `${DEFAULTS}frontend f\n  bind 127.0.0.1:PORT\n${rules.map((one) => `  ${one}`).join("\n")}\n${uses.join("\n")}\n  default_backend b9\n${backends.join("\n")}\n`;
        await holds("haproxy", text, probesFor(["h0.test"]));
      },
      LIMIT_MS,
    );
  }
});
