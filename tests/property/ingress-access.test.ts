// docs/sidecar.md#authorization: what is allowed is allowed in every way in which a server may read the path.
import { expect, test } from "bun:test";
import { posix } from "node:path";
import fc from "fast-check";
import { methodSet } from "../../src/features/route/method-set.ts";
import { IngressAccess } from "../../src/features/sidecar/ingress-access.ts";
import type { RequestHead } from "../../src/message/request-head.ts";
import { parseHead } from "../harness/parsed-head.ts";

const access = new IngressAccess([], [{ identities: [], methods: methodSet(["GET"]).allowed, paths: ["/files/*"] }]);

const decode = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
const slashes = (text: string): string => text.replaceAll("\\", "/");
const bare = (text: string): string => text.replace(/;[^/]*/g, "");

/** Servers as they are found in the field, each written down in the plainest way. */
const READERS: Readonly<Record<string, (raw: string) => string>> = {
  raw: (raw) => raw,
  decoded: decode,
  "resolved as it came": (raw) => posix.normalize(raw),
  "decoded, then resolved": (raw) => posix.normalize(decode(raw)),
  "resolved, then decoded": (raw) => decode(posix.normalize(raw)),
  "a browser's": (raw) => decode(new URL(`http://a.test${raw}`).pathname),
  "without parameters": (raw) => posix.normalize(decode(bare(raw))),
  "decoded, then without parameters": (raw) => posix.normalize(bare(decode(raw))),
  "with backslashes": (raw) => posix.normalize(slashes(decode(raw))),
  "decoded twice": (raw) => posix.normalize(slashes(decode(decode(raw)))),
};

function headOf(path: string): RequestHead | null {
  const head = parseHead(`GET ${path}`);
  return head !== null && head.pathTo > head.pathFrom ? head : null;
}

const part = fc.constantFrom(
  ..."files admin a . .. %2e %2E%2e .%2e %252e %252e%252e / // %2f %2F %252f %5c \\ ; ;x=1 %3b %66iles".split(" "),
);
const path = fc.array(part, { maxLength: 9 }).map((parts) => `/${parts.join("")}`);
const inside = path.map((rest) => `/files${rest}`);

test("a path that is allowed is below the rule's for every reader", () => {
  let allowed = 0;
  fc.assert(
    fc.property(fc.oneof(path, inside), (raw) => {
      const head = headOf(raw);
      if (head === null || access.denialOf(null, head) !== "") return;
      allowed++;
      for (const [name, read] of Object.entries(READERS)) {
        const found = read(raw);
        if (!found.startsWith("/files/")) throw new Error(`${raw} is ${found} for the reader: ${name}`);
      }
    }),
    { numRuns: 20_000 },
  );
  expect(allowed).toBeGreaterThan(500);
});
