import { parseDuration } from "../../config/duration.ts";
import { didYouMean } from "../../config/nearest-name.ts";
import { parseSize } from "../../config/size.ts";
import { equalsBytes, equalsLower, latin1 } from "../../core/bytes.ts";
import { Fault } from "../../core/fault.ts";
import { faultRow } from "../../core/fault-rows.ts";
import { CACHE_RESULT_NAMES } from "../../message/cache-result.ts";
import type { Exchange } from "../../message/exchange.ts";
import { HeaderId } from "../../message/header-block.ts";
import { tookMs } from "../../message/took-ms.ts";
import { ja4Of } from "../../proto/tls/ja4.ts";
import { countedStatus } from "./counters-tap.ts";
import { UNMATCHED_LABEL } from "./route-labels.ts";

/** Characters of `access_log.only`. */
const MAX_FILTER_CHARS = 1024;
/** Parentheses and `not` within each other. */
const MAX_FILTER_DEPTH = 32;

/** Whether a request gets a line. Asked once a request, at its end: it makes no text and no object. */
export type LineFilter = (ex: Exchange) => boolean;

/** Why a text is no filter, and at which of its characters. */
interface FilterFault {
  readonly at: number;
  readonly fault: string;
}

/** Numbers of a request, with the unit that a value may have. */
const NUMBERS: Readonly<
  Record<string, { readonly unit: "" | "time" | "size"; readonly read: (ex: Exchange) => number }>
> = {
  status: { unit: "", read: countedStatus },
  duration: { unit: "time", read: tookMs },
  duration_ms: { unit: "time", read: tookMs },
  upstream_ms: { unit: "time", read: (ex) => ex.attempt.upstreamMs },
  bytes_in: { unit: "size", read: (ex) => ex.bodyBytes },
  bytes_out: { unit: "size", read: (ex) => ex.sentBytes },
  waf_score: { unit: "", read: (ex) => ex.wafScore },
};

/** Texts that are there already when a request ends. */
const TEXTS: Readonly<Record<string, (ex: Exchange) => string>> = {
  client_ip: (ex) => ex.clientIp,
  protocol: ({ request }) => request.protocol(),
  route: (ex) => (ex.route === null ? UNMATCHED_LABEL : ex.route.label),
  upstream: (ex) => ex.attempt.upstreamLabel,
  cache: (ex) => CACHE_RESULT_NAMES[ex.cacheResult]!,
  country: (ex) => ex.country,
  asn: (ex) => String(ex.asn || ""),
  "agent.name": (ex) => ex.agentName,
  user: (ex) => ex.identity?.user ?? "",
  tls_version: (ex) => ex.client.tlsVersion,
  tls_group: (ex) => ex.client.tlsGroup,
  "tls.ja4": (ex) => ja4Of(ex.client),
  "tls.group": (ex) => ex.client.tlsGroup,
  "http2.fingerprint": (ex) => ex.client.opening?.text ?? "",
  fault: (ex) => (ex.fault === Fault.None ? "" : faultRow(ex.fault).label),
};

/** Bytes of the head: compared in place. */
const SLICES: Readonly<Record<string, (ex: Exchange, slice: Slice) => void>> = {
  method: ({ request }, slice) => slice.set(request.bytes, request.methodFrom, request.methodTo),
  path: ({ request }, slice) =>
    request.pathTo > request.pathFrom
      ? slice.set(request.bytes, request.pathFrom, request.pathTo)
      : slice.set(ROOT, 0, ROOT.length),
  query: ({ request }, slice) =>
    slice.set(request.bytes, Math.min(request.pathTo + 1, request.queryTo), request.queryTo),
  host: ({ request }, slice) => {
    if (request.authorityTo > request.authorityFrom)
      slice.set(request.bytes, request.authorityFrom, request.authorityTo);
    else slice.setField(request.headers, HeaderId.Host);
  },
  user_agent: ({ request }, slice) => slice.setField(request.headers, HeaderId.UserAgent),
  referer: ({ request }, slice) => slice.setField(request.headers, HeaderId.Referer),
};

/** The fields that a filter may compare. */
const FILTER_FIELDS: readonly string[] = [...Object.keys(NUMBERS), ...Object.keys(TEXTS), ...Object.keys(SLICES)];

/** Reads a filter such as `status >= 400 or duration > 1s`. docs/operations.md#chosen-lines */
export function compileFilter(source: string): LineFilter | FilterFault {
  if (source.length > MAX_FILTER_CHARS)
    return { at: MAX_FILTER_CHARS, fault: `expected at most ${MAX_FILTER_CHARS} characters` };
  try {
    return new FilterReader(source).whole();
  } catch (error) {
    if (error instanceof Unreadable) return { at: error.at, fault: error.message };
    throw error;
  }
}

/** Whether a path is one of these: exact, or a beginning with a star after it. */
export function pathFilter(paths: readonly string[]): LineFilter {
  const wanted = paths.map((path) => {
    const isStart = path.endsWith("*");
    return { bytes: latin1(isStart ? path.slice(0, -1) : path), isStart };
  });
  const found = new Slice();
  return (ex) => {
    SLICES.path!(ex, found);
    for (let i = 0; i < wanted.length; i++)
      if (found.fits(wanted[i]!.bytes, wanted[i]!.isStart, false, false)) return true;
    return false;
  };
}

class Unreadable extends Error {
  constructor(
    readonly at: number,
    message: string,
  ) {
    super(message);
  }
}

interface Token {
  readonly at: number;
  readonly text: string;
  /** Whether it stands in quotes. */
  readonly isQuoted: boolean;
}

class FilterReader {
  private readonly tokens: readonly Token[];
  private next = 0;
  private depth = 0;

  constructor(private readonly source: string) {
    this.tokens = tokensOf(source);
  }

  whole(): LineFilter {
    const filter = this.either();
    if (this.next < this.tokens.length) this.fail("expected and, or, or the end");
    return filter;
  }

  private either(): LineFilter {
    let left = this.both();
    while (this.takes("or", "||")) {
      const [one, other] = [left, this.both()];
      left = (ex) => one(ex) || other(ex);
    }
    return left;
  }

  private both(): LineFilter {
    let left = this.single();
    while (this.takes("and", "&&")) {
      const [one, other] = [left, this.single()];
      left = (ex) => one(ex) && other(ex);
    }
    return left;
  }

  private single(): LineFilter {
    if (++this.depth > MAX_FILTER_DEPTH)
      this.fail(`expected at most ${MAX_FILTER_DEPTH} parentheses within each other`);
    const filter = this.term();
    this.depth--;
    return filter;
  }

  private term(): LineFilter {
    if (this.takes("not", "!")) {
      const inner = this.single();
      return (ex) => !inner(ex);
    }
    if (this.takes("(")) {
      const inner = this.either();
      if (!this.takes(")")) this.fail('expected ")"');
      return inner;
    }
    return this.comparison();
  }

  private comparison(): LineFilter {
    const field = this.word("a field, such as status");
    const known = FILTER_FIELDS.includes(field.text) && !field.isQuoted;
    if (!known)
      throw new Unreadable(
        field.at,
        `expected a field of the access log, found ${shown(field)}${didYouMean(field.text, FILTER_FIELDS)}`,
      );
    const sign = this.word("a comparison: =, !=, <, <=, > or >=");
    const number = NUMBERS[field.text];
    const { text } = sign;
    const isEqual = text === "=" || text === "==" || text === "!=";
    if (!isEqual && !(number !== undefined && ORDERS.includes(text))) {
      const signs = number === undefined ? "= or !=" : "=, !=, <, <=, > or >=";
      throw new Unreadable(sign.at, `expected ${signs} after ${field.text}, found ${shown(sign)}`);
    }
    const value = this.word("a value");
    if (number !== undefined) return ordered(number.read, text, numberIn(value, field.text, number.unit));
    const fits = this.textFits(field.text, value.text);
    return text === "!=" ? (ex) => !fits(ex) : fits;
  }

  private textFits(field: string, value: string): LineFilter {
    const read = TEXTS[field];
    // A star at an end stands for anything.
    const isStart = value.length > 1 && value.endsWith("*");
    const isEnd = value.startsWith("*") && value !== "";
    const wanted = value.slice(isEnd ? 1 : 0, isStart ? -1 : undefined);
    if (read !== undefined) {
      if (isStart && isEnd) return (ex) => read(ex).includes(wanted);
      if (isStart) return (ex) => read(ex).startsWith(wanted);
      if (isEnd) return (ex) => read(ex).endsWith(wanted);
      return (ex) => read(ex) === value;
    }
    const slice = SLICES[field]!;
    const bytes = latin1(field === "host" ? wanted.toLowerCase() : wanted);
    const found = new Slice();
    const isFolded = field === "host";
    return (ex) => {
      slice(ex, found);
      return found.fits(bytes, isStart, isEnd, isFolded);
    };
  }

  private takes(...words: readonly string[]): boolean {
    const token = this.tokens[this.next];
    if (token === undefined || token.isQuoted || !words.includes(token.text)) return false;
    this.next++;
    return true;
  }

  private word(what: string): Token {
    const token = this.tokens[this.next];
    if (token === undefined || (!token.isQuoted && RESERVED.has(token.text))) this.fail(`expected ${what}`);
    this.next++;
    return token!;
  }

  private fail(expected: string): never {
    const token = this.tokens[this.next];
    throw new Unreadable(
      token?.at ?? this.source.length,
      `${expected}, found ${token === undefined ? "the end" : shown(token)}`,
    );
  }
}

/** A piece of a head, compared in place. */
class Slice {
  private bytes: Uint8Array = ROOT;
  private from = 0;
  private to = 0;

  set(bytes: Uint8Array, from: number, to: number): void {
    this.bytes = bytes;
    this.from = from;
    this.to = Math.max(from, to);
  }

  setField(headers: Exchange["request"]["headers"], id: HeaderId): void {
    const index = headers.find(id);
    if (index < 0) this.set(ROOT, 0, 0);
    else this.set(headers.bytes, headers.valueFrom(index), headers.valueTo(index));
  }

  fits(wanted: Uint8Array, isStart: boolean, isEnd: boolean, isFolded: boolean): boolean {
    const { from, to } = this;
    const { length } = wanted;
    if (length > to - from) return false;
    if (isStart && isEnd) {
      for (let at = from; at + length <= to; at++) if (this.has(at, wanted, isFolded)) return true;
      return false;
    }
    if (isStart) return this.has(from, wanted, isFolded);
    if (isEnd) return this.has(to - length, wanted, isFolded);
    return length === to - from && this.has(from, wanted, isFolded);
  }

  private has(at: number, wanted: Uint8Array, isFolded: boolean): boolean {
    const to = at + wanted.length;
    return isFolded ? equalsLower(this.bytes, at, to, wanted) : equalsBytes(this.bytes, at, to, wanted);
  }
}

function tokensOf(source: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < source.length) {
    if (source[at] === " ") {
      at++;
      continue;
    }
    const quote = source[at]!;
    if (quote === '"' || quote === "'") {
      const end = source.indexOf(quote, at + 1);
      if (end < 0) throw new Unreadable(at, `expected a second ${quote} at the end of the text`);
      tokens.push({ at, text: source.slice(at + 1, end), isQuoted: true });
      at = end + 1;
      continue;
    }
    const text = SIGN.exec(source.slice(at, at + 2))?.[0] ?? WORD.exec(source.slice(at))![0];
    tokens.push({ at, text, isQuoted: false });
    at += text.length;
  }
  return tokens;
}

function ordered(read: (ex: Exchange) => number, sign: string, value: number): LineFilter {
  if (sign === "<") return (ex) => read(ex) < value;
  if (sign === "<=") return (ex) => read(ex) <= value;
  if (sign === ">") return (ex) => read(ex) > value;
  if (sign === ">=") return (ex) => read(ex) >= value;
  return sign === "!=" ? (ex) => read(ex) !== value : (ex) => read(ex) === value;
}

function numberIn({ at, text }: Token, field: string, unit: "" | "time" | "size"): number {
  // As everywhere, a bare number of a duration is seconds; a field with its unit in its name has that.
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text) * (field === "duration" ? 1000 : 1);
  const read = unit === "time" ? parseDuration(text) : unit === "size" ? parseSize(text) : -1;
  if (read >= 0) return read;
  const example =
    unit === "time" ? "a time such as 250ms or 1s" : unit === "size" ? "a size such as 10MiB" : "a number";
  throw new Unreadable(at, `expected ${example} beside ${field}, found ${shown({ text })}`);
}

function shown({ text }: Pick<Token, "text">): string {
  return JSON.stringify(text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text);
}

const SIGN = /^(?:[=!<>]=|&&|\|\||[=!<>()])/;
const WORD = /^[^\s=!<>()"'&|]+|^./;
const ORDERS: readonly string[] = ["<", "<=", ">", ">="];
const RESERVED: ReadonlySet<string> = new Set(["and", "or", "not", "(", ")", "&&", "||", "!"]);
const ROOT = latin1("/");
const MAX_SHOWN_CHARS = 40;
