import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { requestBytes, type WafCase } from "./waf-case.ts";

interface Test {
  readonly stages: readonly { readonly input: Input; readonly output: Output }[];
}

/** A request as the regression tests describe one (go-ftw's format). */
interface Input {
  readonly method?: string;
  readonly uri?: string;
  readonly version?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly data?: string;
  readonly encoded_request?: string;
  readonly autocomplete_headers?: boolean;
}

interface Output {
  readonly log?: { readonly expect_ids?: readonly number[]; readonly no_expect_ids?: readonly number[] };
}

/** The regression tests of the Core Rule Set: an attack where rules must match, an ordinary request where none must. */
export function crsCases(folder: string): WafCase[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".yaml"));
  return files.sort().flatMap((name) => {
    const file = parse(readFileSync(join(folder, name), "utf8"), LENIENT) as { tests?: readonly Test[] } | null;
    const tests = file?.tests ?? [];
    const group = /(\d{3})\d{3}\.yaml$/.exec(name)?.[1] ?? "others";
    // Those of responses are about what an origin says.
    if (Number(group) >= FIRST_OF_RESPONSES) return [];
    return tests.flatMap(({ stages }) => stages.map(({ input, output }) => caseOf(group, input, output)));
  });
}

function caseOf(group: string, input: Input, { log }: Output): WafCase {
  const isAttack = (log?.expect_ids ?? []).length > 0;
  return { set: "CRS regression tests", group: `CRS ${group}`, isAttack, weight: 1, bytes: bytesOf(input) };
}

function bytesOf(input: Input): Uint8Array {
  if (input.encoded_request !== undefined) return Buffer.from(input.encoded_request, "base64");
  const { method = "GET", uri = "/", version = "HTTP/1.1", headers = {}, data } = input;
  const fields = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]);
  const body = data === undefined ? null : Buffer.from(String(data), "utf8");
  const needsType = body !== null && input.autocomplete_headers !== false && !("Content-Type" in headers);
  if (needsType) fields.push(["Content-Type", "application/x-www-form-urlencoded"]);
  const bytes = requestBytes(`${method} ${uri}`, fields, body);
  if (version === "HTTP/1.1") return bytes;
  return Buffer.from(Buffer.from(bytes).toString("latin1").replace(" HTTP/1.1\r\n", ` ${version}\r\n`), "latin1");
}

const FIRST_OF_RESPONSES = 950;
const LENIENT = { strict: false, uniqueKeys: false, logLevel: "silent" } as const;
