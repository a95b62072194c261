import type { CallKind, Records } from "../wire.ts";
import type { Auth, CallFacts } from "./context.ts";

/** Names that modules have asked for, as they are searched for; forgotten when there are more. */
const MAX_NEEDLES = 256;
/** What the text of a field begins with, by the name that was asked for. */
const needles: Map<string, string> = new Map();
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** How a line of the field begins; "" if the name is none. */
function needleOf(name: string): string {
  const known = needles.get(name);
  if (known !== undefined) return known;
  const needle = TOKEN.test(name) ? `\n${name.toLowerCase()}:` : "";
  if (needles.size >= MAX_NEEDLES) needles.clear();
  needles.set(name, needle);
  return needle;
}

/** A method and an origin with which calls have begun: most begin with the same ones. */
interface KnownStart {
  /** The two lines. */
  readonly text: string;
  readonly method: string;
  /** Scheme and authority. */
  readonly origin: string;
  /** The status that refuses a request of which no `Request` can be made; 0 if one can. */
  readonly fault: 0 | 400 | 501;
}

const MAX_STARTS = 8;
const starts: KnownStart[] = [];
let nextStart = 0;

function startOf(text: string): KnownStart {
  for (let i = 0; i < starts.length; i++) if (text.startsWith(starts[i]!.text, METHOD_FROM)) return starts[i]!;
  const methodTo = text.indexOf("\n", METHOD_FROM);
  const originTo = text.indexOf("\n", methodTo + 1);
  const method = text.slice(METHOD_FROM, methodTo);
  const origin = text.slice(methodTo + 1, originTo);
  const start = { text: text.slice(METHOD_FROM, originTo + 1), method, origin, fault: requestFault(method, origin) };
  starts[nextStart++ % MAX_STARTS] = start;
  return start;
}

/** As it was before a module was loaded. */
const NativeRequest: typeof Request = globalThis.Request;

function requestFault(method: string, origin: string): 0 | 400 | 501 {
  try {
    // The runtime takes methods that it does not know for GET.
    return new NativeRequest(`${origin}/`, { method }).method === method ? 0 : 501;
  } catch {
    // What no URL can hold, such as a host that is none.
    return 400;
  }
}

/**
 * The head of a request, as the text of its record (`writeCall`): most modules look at little of it, and what none asks for is not read. A text that
 * stays a part of the batch costs 20 ns, the `Request` with its `Headers` 800 and what the collector does with both.
 */
export class CallHead implements CallFacts {
  readonly kind: CallKind;
  /** Whether a body follows that is no part of the record. */
  readonly hasBody: boolean;
  private readonly start: KnownStart;
  private readonly text: string;
  /** Where path and query begin. */
  private readonly from: number;
  private lines: readonly string[] | null = null;
  private parsedAuth: Auth | null = null;

  constructor(records: Records) {
    const text = records.block();
    this.text = text;
    this.kind = text[0] as CallKind;
    this.hasBody = text[1] === "1";
    this.start = startOf(text);
    this.from = METHOD_FROM + this.start.text.length;
  }

  get method(): string {
    return this.start.method;
  }

  /** Scheme and authority. */
  get origin(): string {
    return this.start.origin;
  }

  /** The status that refuses a request of which no `Request` can be made; 0 if one can. */
  get fault(): 0 | 400 | 501 {
    return this.start.fault;
  }

  get path(): string {
    return this.text.slice(this.from, this.text.indexOf("\n", this.from));
  }

  get clientIp(): string {
    return this.line(Line.ClientIp);
  }

  get requestId(): string {
    return this.line(Line.RequestId);
  }

  get route(): string {
    return this.line(Line.Route);
  }

  get rawTarget(): string {
    return this.line(Line.RawTarget) || this.path;
  }

  get auth(): Auth | null {
    const text = this.line(Line.Auth);
    if (text !== "") this.parsedAuth ??= JSON.parse(text);
    return this.parsedAuth;
  }

  /** Names in lower case, and values. */
  get fields(): [string, string][] {
    const fields: [string, string][] = [];
    const lines = this.split();
    for (let i = Line.FirstField; i < lines.length - 1; i++) {
      const line = lines[i]!;
      const nameTo = line.indexOf(":");
      fields.push([line.slice(0, nameTo), line.slice(nameTo + 1)]);
    }
    return fields;
  }

  /** Whether there is the field; undefined if the name is none. */
  has(name: string): boolean | undefined {
    const needle = needleOf(name);
    return needle === "" ? undefined : this.text.includes(needle, this.from);
  }

  /** The value of a field; null without one, undefined if there are several, or the name is none. */
  get(name: string): string | null | undefined {
    const needle = needleOf(name);
    if (needle === "") return undefined;
    const { text } = this;
    const at = text.indexOf(needle, this.from);
    if (at < 0) return null;
    const from = at + needle.length;
    const to = text.indexOf("\n", from);
    return text.includes(needle, to) ? undefined : text.slice(from, to);
  }

  private line(index: Line): string {
    return this.split()[index]!.slice(1);
  }

  private split(): readonly string[] {
    this.lines ??= this.text.slice(this.from).split("\n");
    return this.lines;
  }
}

/** After the kind, whether there is a body, and a line break. */
const METHOD_FROM = 3;

/** Lines from the path on; the last is followed by the fields, and these by an empty one. */
const enum Line {
  Path = 0,
  ClientIp,
  RequestId,
  Route,
  Auth,
  RawTarget,
  FirstField,
}
