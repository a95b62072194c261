// Whatever directives a configuration has, the result of `edge convert` is in order, and no directive is without a word. docs/migrate.md
import { describe, expect, test } from "bun:test";
import { basename } from "node:path";
import fc from "fast-check";
import { parse, stringify } from "yaml";
import { arrange, holdsHost } from "../../src/tools/convert/arrange.ts";
import { type Product, planOf } from "../../src/tools/convert/convert.ts";
import type { PathRule } from "../../src/tools/convert/path-rule.ts";
import { type Rule, ruleOf } from "../../src/tools/convert/plan.ts";
import { ConvertFault, Statement } from "../../src/tools/convert/statement.ts";
import { convert, examples } from "../harness/conversions.ts";

const RUNS = 20;

/** The lines of all examples of a product: parts of them are put together anew. */
function linesOf(product: Product): string[] {
  return [
    ...new Set(
      examples(product)
        .flatMap(({ text }) => text.split("\n"))
        .filter((line) => line.trim() !== ""),
    ),
  ];
}

/** Converts, and asserts that it works, or that the text is none of the product. */
function holds(product: Product, name: string, text: string): void {
  let isText = true;
  try {
    const { ledger } = planOf(product, `/nowhere/${name}`, text);
    expect(ledger.account().filter(({ fate }) => fate === null)).toEqual([]);
    isText = ledger.account().length > 0;
  } catch (error) {
    if (!(error instanceof ConvertFault)) throw error;
    isText = false;
  }
  const { code, err, loaded } = convert(product, name, text);
  if (isText)
    expect({ code, err: code === 0 ? "" : err, faults: loaded?.ok === false ? loaded.faults : [] }).toEqual({
      code: 0,
      err: "",
      faults: [],
    });
  else expect(code).toBe(1);
}

describe("examples without some of their lines", () => {
  for (const { product, path, text } of examples().filter((one) => one.product !== "traefik")) {
    test(`${product}/${basename(path)}`, () => {
      const lines = text.split("\n");
      const kept = fc.array(fc.boolean(), { minLength: lines.length, maxLength: lines.length });
      fc.assert(
        fc.property(kept, (keeps) => {
          // Lines with a brace stay, so that blocks stay whole.
          holds(product, basename(path), lines.filter((line, i) => keeps[i] || /[{}]|^\S/.test(line)).join("\n"));
        }),
        { numRuns: 2 },
      );
    });
  }
});

describe("directives of all examples in one block", () => {
  const leaves = (product: Product): string[] =>
    linesOf(product).filter((line) => !/[{}]/.test(line) && !/^\s*#/.test(line));
  const nginx = fc.subarray(leaves("nginx").filter((line) => /;\s*$/.test(line) && !line.includes("include")));

  test("nginx", () => {
    fc.assert(
      fc.property(nginx, nginx, nginx, (a, b, c) => {
        holds(
          "nginx",
          "nginx.conf",
          `http {\n${a.join("\n")}\nserver {\n${b.join("\n")}\nlocation /a/ {\n${c.join("\n")}\n}\n}\n}`,
        );
      }),
      { numRuns: RUNS },
    );
  });

  test("Caddy", () => {
    const lines = fc.subarray(
      leaves("caddy").filter((line) => /^\t/.test(line) && !/[`"]|<<|\\$|TEXT|lines|several/.test(line)),
    );
    fc.assert(
      fc.property(lines, lines, (a, b) => {
        holds("caddy", "Caddyfile", `:8080 {\n${a.join("\n")}\nhandle /x/* {\n${b.join("\n")}\n}\n}`);
      }),
      { numRuns: RUNS },
    );
  });

  test("HAProxy", () => {
    const lines = fc.subarray(linesOf("haproxy").filter((line) => /^\s/.test(line)));
    fc.assert(
      fc.property(lines, lines, lines, (a, b, c) => {
        holds(
          "haproxy",
          "haproxy.cfg",
          `defaults\n${a.join("\n")}\nfrontend f\n${b.join("\n")}\nbackend app\n${c.join("\n")}\n`,
        );
      }),
      { numRuns: RUNS },
    );
  });

  test("Traefik: keys are left out at any depth", () => {
    const trees = examples("traefik")
      .filter(({ path }) => path.endsWith(".yml"))
      .map(({ text }) => parse(text) as unknown);
    fc.assert(
      fc.property(fc.constantFrom(...trees), fc.infiniteStream(fc.nat(9)), (tree, chances) => {
        const text = stringify(thinned(tree, chances));
        if (text.trim() !== "{}") holds("traefik", "dynamic.yml", text);
      }),
      { numRuns: RUNS },
    );
  });
});

function thinned(value: unknown, chances: Iterator<number>): unknown {
  if (Array.isArray(value)) return value.map((one) => thinned(one, chances));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(() => chances.next().value !== 0)
      .map(([key, one]) => [key, thinned(one, chances)]),
  );
}

test("any text ends as a conversion or a fault", () => {
  const words = fc.constantFrom(
    "server",
    "{",
    "}",
    ";",
    "\n",
    '"',
    "'",
    "\\",
    "#",
    "location",
    "/",
    "$x",
    "frontend",
    " ",
    "@a",
    "<<E",
    "`",
    ",",
  );
  fc.assert(
    fc.property(
      fc.constantFrom<Product>("nginx", "caddy", "haproxy", "traefik"),
      fc.array(fc.oneof(words, fc.string()), { maxLength: 40 }),
      (product, parts) => {
        try {
          const { ledger } = planOf(product, "x", parts.join(""));
          expect(ledger.account().filter(({ fate }) => fate === null)).toEqual([]);
        } catch (error) {
          expect(error).toBeInstanceOf(ConvertFault);
        }
      },
    ),
    { numRuns: 500 },
  );
});

describe("the order of rules", () => {
  const path: fc.Arbitrary<PathRule> = fc.record({
    kind: fc.constantFrom("exact", "prefix"),
    value: fc.constantFrom("/", "/a", "/a/b", "/c"),
  });
  const hosts = fc.subarray(["a.test", "b.test", "*.test"]);
  const origin = new Statement({ file: "f", line: 1 }, ["x"], null, false);
  const rules = fc.array(fc.record({ path, hosts, isCertain: fc.boolean() }), { maxLength: 7 }).map((list) =>
    list.map((one, index): Rule => {
      const rule = ruleOf(origin, "", { type: "respond", status: 200 + index });
      return { ...rule, ...one, match: one.isCertain ? {} : { header: { [`X-${index}`]: true } } };
    }),
  );

  test("routes take the requests that the first rule that fits takes", () => {
    fc.assert(
      fc.property(
        rules,
        fc.constantFrom("a.test", "b.test", "c.test", "d.example"),
        fc.constantFrom("/", "/a", "/a/b", "/a/b/c", "/c/d", "/x"),
        fc.array(fc.boolean(), { minLength: 7, maxLength: 7 }),
        (list, host, at, sent) => {
          const fits = (rule: Pick<Rule, "hosts" | "path">): boolean =>
            (rule.hosts.length === 0 || rule.hosts.some((one) => holdsHost(one, host))) &&
            (rule.path.value === at ||
              (rule.path.kind === "prefix" && (rule.path.value === "/" || at.startsWith(`${rule.path.value}/`))));
          const wanted = list.findIndex((rule, i) => fits(rule) && (Object.keys(rule.match).length === 0 || sent[i]));
          expect(chosen(arrange(list), { host, at, sent })).toBe(wanted < 0 ? null : 200 + wanted);
        },
      ),
      { numRuns: 500 },
    );
  });
});

/** As docs/routing.md#which-route-wins says. */
function chosen(
  routes: ReturnType<typeof arrange>,
  { host, at, sent }: { readonly host: string; readonly at: string; readonly sent: readonly boolean[] },
): unknown {
  const hostsOf = (keys: Rule["keys"]): string[] => (keys.host === undefined ? [""] : ([keys.host].flat() as string[]));
  const open = routes.flatMap(({ keys }, index) =>
    hostsOf(keys)
      .filter((one) => one === "" || holdsHost(one, host))
      .map((one) => ({
        keys,
        index,
        host: one,
        place: String(keys.path ?? keys.prefix),
        isExact: keys.path !== undefined,
      }))
      .filter(({ place, isExact }) => place === at || (!isExact && (place === "/" || at.startsWith(`${place}/`)))),
  );
  const rank = (one: (typeof open)[number]): number[] => [
    one.isExact ? 1 : 0,
    one.place === "/" ? 0 : one.place.length,
    one.host === "" ? 0 : one.host.startsWith("*.") ? 1 : 2,
    one.keys.match === undefined ? 0 : 1,
    -one.index,
  ];
  open.sort(
    (a, b) =>
      rank(b)
        .map((value, i) => value - rank(a)[i]!)
        .find((one) => one !== 0) ?? 0,
  );
  const found = open.find(({ keys }) => keys.match === undefined || sent[Number(keys.status) - 200]);
  return found?.keys.status ?? null;
}
