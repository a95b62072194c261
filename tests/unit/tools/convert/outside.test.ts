// What the report of a conversion must not say, and must say. docs/migrate.md
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parse } from "yaml";
import { runConvert } from "../../../../src/cli/convert.ts";
import { convert } from "../../../harness/conversions.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "edge-outside-"));
  mkdirSync(join(folder, "etc"));
  writeFileSync(join(folder, "broken"), "root:s3cret:19000:0:99999:7:::\n");
  writeFileSync(join(folder, "whole"), "s3cret s3cret2;\nserver_name s3cret3$x;\nlocation /open { s3cret5 on; }\n");
  symlinkSync(join(folder, "broken"), join(folder, "etc", "link"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function said(text: string): string {
  const file = join(folder, "etc", "nginx.conf");
  writeFileSync(file, text);
  let all = "";
  const take = (one: string): void => {
    all += one;
  };
  runConvert([file, "--from", "nginx"], { out: take, err: take });
  return all;
}

describe("text of included files outside of the folder", () => {
  test.each([
    ["../broken", /outside:.*broken:1: it is no configuration of this product/],
    ["link", /outside:.*link:1: it is no configuration of this product/],
    ["../whole", /outside:.*whole:1 \| a directive of an included file/],
  ])("%s", (name, words) => {
    const all = said(`server { listen 80; include ${name}; }`);
    expect(all).toMatch(words);
    // What is carried over is in the routes; no note and no message quotes a line.
    const quoted = all.split("\n").filter((line) => /^(#|edge convert)|^ *#/.test(line) && line.includes("s3cret"));
    expect(quoted).toEqual([]);
  });

  test("below the folder it is shown", () => {
    writeFileSync(join(folder, "etc", "own"), "frobnicate on;\n");
    expect(said("server { listen 80; include own; }")).toContain("own:1 | frobnicate on");
  });
});

describe("the gateway's own endpoints", () => {
  const server = (location: string): string => `server { listen 80; location ${location} { proxy_pass http://h:1; } }`;

  test.each(["= /health", "/metrics", "/internal/", "/api"])("%s", (place) => {
    const { routes } = convert("nginx", "nginx.conf", server(place));
    expect(routes).toMatch(/location .*the gateway answers \/[\w/, ]+ itself, before every route/);
  });

  test("all other paths", () => {
    expect(convert("nginx", "nginx.conf", server("/")).routes).toContain(
      "| the gateway's own endpoints | the gateway answers /health, /api/status, /metrics, /internal and challenges of ACME itself",
    );
    expect(convert("nginx", "nginx.conf", server("/x")).routes).not.toContain("itself, before every route");
  });
});

test("${NAME} of a foreign file is no variable", () => {
  const text = `server { listen 80; location / { return 200 'a $\{HOME}'; add_header X-A '$\{PATH:-b}'; } location /a { return 200 '$$\{HOME'; } location /b { root '/srv/$\{HOME}'; } }`;
  const { routes, loaded } = convert("nginx", "nginx.conf", text);
  expect(loaded?.ok).toBe(true);
  const said = JSON.stringify(loaded);
  expect(said).not.toContain(process.env.PATH!);
  expect(JSON.stringify(parse(routes))).not.toMatch(/[^$]\$\{/);
});
