// A section of HAProxy has the `defaults` that it names with `from`, or the last before it: what they refuse stays refused. docs/migrate-haproxy.md
import { expect, test } from "bun:test";
import { planOf } from "../../../../src/tools/convert/convert.ts";

const TEXT = `defaults times
  mode http
  timeout server 5s
defaults guarded from times
  http-request deny if { path_beg /secret }
defaults open
  mode http
frontend f FROM
  bind :80
  default_backend b
backend b from times
  server s h:1
`;

/** Paths that routes refuse, and how long the backend may take. */
function facts(from: string): { readonly refused: readonly string[]; readonly wait: unknown } {
  const { rules } = planOf("haproxy", "haproxy.cfg", TEXT.replace("FROM", from));
  const refused = rules.filter(({ keys }) => keys.status === 403).map(({ path }) => path.value);
  const wait = rules.map(({ keys }) => keys.timeouts as { readonly response_header?: string } | undefined);
  return { refused, wait: wait.at(-1)?.response_header };
}

test("a section has the defaults that it names, with those of which they are made", () => {
  expect(facts("from guarded")).toEqual({ refused: ["/secret", "/"], wait: "5s" });
  expect(facts("from open")).toEqual({ refused: [], wait: "5s" });
  expect(facts("")).toEqual({ refused: [], wait: "5s" });
});

test("defaults that are not there are a fault", () => {
  expect(() => facts("from nowhere")).toThrow('there are no defaults "nowhere"');
});
