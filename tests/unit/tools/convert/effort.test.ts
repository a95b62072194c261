// A conversion that would take more than its file allows ends with a word, and writes nothing. docs/migrate.md
import { expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runConvert } from "../../../../src/cli/convert.ts";
import type { Product } from "../../../../src/tools/convert/convert.ts";
import { MULTIPLIED } from "../../../harness/costly-configurations.ts";

function run(
  product: Product,
  text: string,
): { readonly code: number; readonly err: string; readonly isWritten: boolean } {
  const folder = mkdtempSync(join(tmpdir(), "edge-effort-"));
  try {
    const file = join(folder, "site");
    writeFileSync(file, text);
    let err = "";
    const io = {
      out: () => {},
      err: (one: string) => {
        err += one;
      },
    };
    const code = runConvert([file, "--from", product, "--out", join(folder, "out")], io);
    return { code, err: err.replace(`${folder}/`, ""), isWritten: existsSync(join(folder, "out")) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test.each([
  ["nginx", "ifs x locations"],
  ["caddy", "headers by header"],
  ["haproxy", "rules with exceptions"],
  ["traefik", "chains"],
] as const)(
  "%s: %s",
  (product, name) => {
    expect(run(product, MULTIPLIED[product][name]!(16_000))).toEqual({
      code: 1,
      err: "edge convert: site: its hosts, paths and conditions together make too many routes: convert its sites in parts\n",
      isWritten: false,
    });
  },
  60_000,
);

test("a result that is larger than what edge reads is named, and not written", () => {
  expect(run("caddy", `http://a.test {\n\trespond "${"x".repeat(17 << 20)}"\n}\n`)).toEqual({
    code: 1,
    err: "edge convert: site: its routes.yaml would be larger than 16 MiB: convert its sites in parts\n",
    isWritten: false,
  });
}, 60_000);

test("many hosts of one site are one list, however many paths there are", () => {
  const names = Array.from({ length: 300 }, (_, i) => `http://a${i}.test`).join(", ");
  const paths = Array.from({ length: 20 }, (_, i) => `respond /x${i} 403`).join("\n\t");
  const { code, err } = run(
    "caddy",
    `${names} {\n\t${paths}\n\treverse_proxy h:1\n}\nhttp://b.test {\n\trespond b\n}\n`,
  );
  expect({ code, err: code === 0 ? "" : err }).toEqual({ code: 0, err: "" });
}, 60_000);
