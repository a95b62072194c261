// Fields that are lists: HAProxy compares each value of one, a route the whole field. docs/migrate.md
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runConvert } from "../../../../src/cli/convert.ts";

/** routes.yaml of a frontend with this line, on standard output. */
function converted(line: string): string {
  const folder = mkdtempSync(join(tmpdir(), "edge-lists-"));
  const file = join(folder, "haproxy.cfg");
  writeFileSync(
    file,
    `frontend f\n  mode http\n  bind 127.0.0.1:80\n  ${line}\n  default_backend b\nbackend b\n  mode http\n  server s 127.0.0.1:9\n`,
  );
  let text = "";
  const take = (part: string) => {
    text += part;
  };
  runConvert([file, "--from", "haproxy"], { out: take, err: () => {} });
  rmSync(folder, { recursive: true, force: true });
  return text;
}

function expressionOf(text: string): RegExp {
  const quoted = /X-Level: (".*")/.exec(text)?.[1] ?? '""';
  return new RegExp((JSON.parse(quoted) as string).slice(1, -1));
}

test.each([
  ["hdr(X-Level) 1", ["1", "0, 1", "1,2", "0\t,\t1"], ["11", "0,12"]],
  ["hdr_beg(X-Level) ad", ["admin", "x, admin"], ["bad"]],
  ["hdr_end(X-Level) min", ["admin", "admin, x"], ["mint"]],
])("http-request deny if { %s } refuses each value of a list", (condition, refused, passed) => {
  const expression = expressionOf(converted(`http-request deny if { ${condition} }`));
  for (const value of refused) expect([value, expression.test(value)]).toEqual([value, true]);
  for (const value of passed) expect([value, expression.test(value)]).toEqual([value, false]);
});
