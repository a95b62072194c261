import type { CallKind, Records } from "../wire.ts";
import type { Auth, CallFacts } from "./context.ts";

/** Names that modules have asked for, as they are searched for; forgotten when there are more. */
const MAX_NEEDLES = 256;
/** What the text of a field begins with, by the name that was asked for. */
const needles: Map<string, string> = new Map();
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** How a line of the field begins; "" where the name is none. */
function needleOf(name: string): string {
  const known = needles.get(name);
  if (known !== undefined) return known;
  const needle = TOKEN.test(name) ? `\n${name.toLowerCase()}:` : "";
  if (needles.size >= MAX_NEEDLES) needles.clear();
  needles.set(name, needle);
  return needle;
}

/**
 * The head of a request, as the text of its record (`writeCall`): most modules look at little of it, and what none asks for is not read. A text that
 * stays a part of the batch costs 20 ns, the `Request` with its `Headers` 800 and what the collector does with both.
 */
export class CallHead implements CallFacts {
  readonly kind: CallKind;
  /** Whether a body follows that is no part of the record. */
  readonly hasBody: boolean;
  readonly method: string;
  /** Scheme and authority. */
  readonly origin: string;
  private readonly text: string;
  /** Where path and query begin. */
  private readonly from: number;
  private lines: readonly string[] | null = null;
  private parsedAuth: Auth | null = null;

  constructor(records: Records) {
    const text = records.block();
    const methodTo = text.indexOf("\n", METHOD_FROM);
    const originTo = text.indexOf("\n", methodTo + 1);
    this.text = text;
    this.kind = text[0] as CallKind;
    this.hasBody = text[1] === "1";
    this.method = text.slice(METHOD_FROM, methodTo);
    this.origin = text.slice(methodTo + 1, originTo);
    this.from = originTo + 1;
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

  /** Whether there is the field; undefined where the name is none. */
  has(name: string): boolean | undefined {
    const needle = needleOf(name);
    return needle === "" ? undefined : this.text.includes(needle, this.from);
  }

  /** The value of a field; null without one, undefined where there are several, or the name is none. */
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
  FirstField,
}
