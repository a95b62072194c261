import { printable } from "../../core/printable.ts";
import type { ReplayFinding } from "./replay-run.ts";

/** A request whose responses differ, for people: a line, and one for each difference. */
export function findingText({ request, differences }: ReplayFinding): string {
  const head = `${request.method} ${request.host}${shownUri(request.uri)}`;
  const lines = differences.map(({ what, left, right }) => `  ${what}: ${shownValue(left)} | ${shownValue(right)}`);
  return [head, ...lines].map((line) => `${printable(cut(line))}\n`).join("");
}

/** The same for `--json`. */
export function findingJson({ request: { method, host, uri }, differences }: ReplayFinding): object {
  return { method, host, uri: shownUri(uri), differences };
}

/** A line of a log may be as long as a client likes. */
function cut(line: string): string {
  return line.length > MAX_LINE ? `${line.slice(0, MAX_LINE)}…` : line;
}

const MAX_LINE = 400;

function shownValue(value: string): string {
  return value === "" ? "(none)" : value.replaceAll("\n", ", ");
}

/** A query without the values of what is named like a secret. */
function shownUri(uri: string): string {
  return uri.replace(/([?&])([^=&?]+)=([^&]*)/g, (whole, sign: string, name: string) =>
    SECRET.test(name) ? `${sign}${name}=***` : whole,
  );
}

const SECRET = /token|secret|passw|key|auth|session|sig|code|jwt|credential/i;
