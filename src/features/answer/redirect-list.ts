import { isHostName } from "../../config/origin.ts";
import { hostLiteral } from "../../core/ip-address.ts";
import { type ListContent, ListFaults, MAX_LIST_LINES } from "../../memory/list-file.ts";
import { type TextTable, TextTableBuilder } from "../../memory/text-table.ts";
import type { RequestHead } from "../../message/request-head.ts";
import { requestHost } from "../../message/request-host.ts";
import { csvRecords } from "../../proto/csv/csv-records.ts";
import { canonicalRoutePath } from "../../proto/target/canonical-path.ts";
import { routedPath } from "../../proto/target/routed-path.ts";
import { Template } from "../../proto/template/template.ts";
import { redirectFault } from "./redirect-target.ts";

/** Lines between two turns for other work. */
const LINES_PER_STEP = 1000;

/** A redirect of a list. */
interface ListedRedirect {
  readonly to: string;
  /** 0: the line names none. */
  readonly status: number;
}

/**
 * Makes a table of a list of redirects, lines of `from,to,status`: canonical paths, with their host before them if they name one.
 * docs/answers.md#lists
 */
export function* readRedirectList(text: string): Generator<undefined, ListContent, undefined> {
  const table = new TextTableBuilder();
  const origins = new Set<string>();
  const faults = new ListFaults();
  /** The lines of the entries. */
  const lines: number[] = [];
  let count = 0;
  for (const { line, fields, fault } of csvRecords(text)) {
    if (++count > MAX_LIST_LINES) {
      faults.add(line, `the list has more than ${MAX_LIST_LINES} lines: this one and all after it are left out`);
      break;
    }
    if (count % LINES_PER_STEP === 0) yield undefined;
    const found = fault === "" ? redirectOf(fields, origins) : fault;
    if (typeof found === "string") {
      faults.add(line, found);
      continue;
    }
    const earlier = table.add(found.from, found.to, found.status);
    if (earlier < 0) lines.push(line);
    else faults.add(line, `repeats line ${lines[earlier]}, which serves`);
  }
  return { table: yield* table.finish(), entries: table.size, faults: faults.kept, faultCount: faults.count };
}

/** The redirect of a line, or why it is none. @param origins schemes and servers that were found good: most lines name one of a few */
function redirectOf(
  fields: readonly string[],
  origins: Set<string>,
): { from: string; to: string; status: number } | string {
  const [written = "", target = "", code = "", ...more] = fields.map((field) => field.trim());
  if (fields.length < 2) return "expected from,to or from,to,status";
  if (more.length > 0) return `expected from,to,status, found ${fields.length} fields: put one with a comma in quotes`;
  const from = sourceOf(written);
  if (!from.ok) return from.fault;
  const to = encoded(target);
  if (target === "") return "has no address to lead to";
  if (!/^[\x21-\x7e]+$/.test(to)) return "leads to an address with spaces or control characters";
  const origin = ORIGIN.exec(to)?.[0] ?? "";
  if (!origins.has(origin)) {
    const fault = redirectFault(new Template([to], []), false);
    if (fault !== "") return `its address ${fault}`;
    if (origin !== "" && origins.size < MAX_ORIGINS) origins.add(origin);
  }
  if (to === written || to === from.key) return "leads to itself";
  if (code !== "" && !STATUSES.has(code))
    return `expected the status 301, 302, 303, 307 or 308, found ${JSON.stringify(code)}`;
  return { from: from.key, to, status: Number(code) };
}

type Source = { readonly ok: true; readonly key: string } | { readonly ok: false; readonly fault: string };

/** The key of a path, or of a host with a path. */
function sourceOf(written: string): Source {
  if (written === "") return { ok: false, fault: "has no path to lead from" };
  if (/[\s?#\p{Cc}]/u.test(written))
    return { ok: false, fault: "expected a path without a query, a fragment and spaces to lead from" };
  if (PLAIN.test(written)) return { ok: true, key: written };
  if (written.startsWith("/") && !written.startsWith("//")) return { ok: true, key: canonicalRoutePath(written) };
  const [, host = "", path = ""] = /^(?:https?:)?(?:\/\/)?([^/]*)(\/.*)?$/i.exec(written) ?? [];
  const isAddress = host.startsWith("[");
  if (isAddress ? hostLiteral(host) === "" : !isHostName(host))
    return {
      ok: false,
      fault: "expected a path such as /old, or a host with a path such as example.com/old, to lead from",
    };
  return {
    ok: true,
    key: (isAddress ? hostLiteral(host) : host.toLowerCase()) + canonicalRoutePath(path === "" ? "/" : path),
  };
}

/** Letters beyond ASCII as a URL has them. */
function encoded(text: string): string {
  return text.replace(/[^\0-\x7f]+/g, (letters) => encodeURIComponent(letters.toWellFormed()));
}

/** Finds the redirects of a list, which another one may replace at any time. */
export class RedirectList {
  private readonly cell: { readonly table: TextTable };

  constructor(cell: { readonly table: TextTable }) {
    this.cell = cell;
  }

  /** Whether the list has the request's path. */
  has(head: RequestHead): boolean {
    return this.numberOf(head) >= 0;
  }

  /** The redirect of a request; null if the list has none. */
  find(head: RequestHead): ListedRedirect | null {
    const { table } = this.cell;
    const number = this.numberOf(head);
    return number < 0 ? null : { to: table.valueOf(number), status: table.markOf(number) };
  }

  /** Lines with a host come first. */
  private numberOf(head: RequestHead): number {
    const { table } = this.cell;
    if (table.size === 0) return -1;
    const path = routedPath(head, head.sender.canonicalPath);
    const ofHost = table.find(requestHost(head) + path);
    return ofHost >= 0 ? ofHost : table.find(path);
  }
}

const STATUSES: ReadonlySet<string> = new Set(["301", "302", "303", "307", "308"]);
/** Scheme, server and the slash behind it. */
const ORIGIN = /^https?:\/\/[a-z0-9.-]+(?::\d{1,5})?\//i;
const MAX_ORIGINS = 1000;
/** A path that is its own canonical form. */
const PLAIN = /^(?:\/[a-z0-9_~-][a-z0-9._~-]*)+$/i;
