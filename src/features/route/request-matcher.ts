import { EACH_REQUEST, type FieldTest, fieldExpression, type MatchConfig } from "../../config/match-settings.ts";
import { NetworkSet } from "../../core/network-set.ts";
import { trimmed } from "../../core/trimming.ts";
import { agentPattern, fitsAgent } from "../../message/agent-pattern.ts";
import { type ClientPeer, NO_CLIENT } from "../../message/client-peer.ts";
import { type HeaderBlock, HeaderId } from "../../message/header-block.ts";
import { Method, type RequestHead } from "../../message/request-head.ts";
import type { RouteMatcher } from "../../message/route.ts";
import { type Expression, expressionIn, LateExpression } from "../../proto/expression/expression.ts";
import { SentField } from "../../proto/h1/sent-fields.ts";
import { decodeOnce } from "../../proto/target/percent-decoding.ts";
import { encodedPart, routedPath } from "../../proto/target/routed-path.ts";
import { ja4Of } from "../../proto/tls/ja4.ts";
import { methodSet } from "./method-set.ts";

/**
 * What `match` of a route asks of a request: all of it must hold. If a name occurs several times, or an origin may read a name
 * or a value in several ways, one that fits is enough, so that no spelling hides a value from the route that is meant for it.
 * docs/routing.md#match
 */
export class RequestMatcher implements RouteMatcher {
  readonly id: Uint8Array;
  private readonly networks: NetworkSet | null;
  private readonly countries: ReadonlySet<string> | null;
  private readonly agents: readonly string[] | null;
  private readonly share: ClientShare | null;
  private readonly knocks: readonly KnockTest[];
  private readonly headers: readonly (readonly [SentField, NamedTest])[];
  private readonly cookies: readonly NamedTest[];
  private readonly queries: readonly NamedTest[];
  /** 1 at each method that fits; null for all. */
  private readonly methods: Uint8Array | null;
  private readonly path: Expression | null;
  private readonly listeners: ReadonlySet<string> | null;

  /**
   * @param id a text that tells this route from others of the same path and host
   * @param shareFrom where its share of the clients begins, 0 to 1: routes of one place divide the clients among them
   * @param path an expression for the path, in the form by which routes are found; null for any
   * @param listeners names of the route's listeners; none for all
   */
  constructor(
    config: MatchConfig,
    id: string,
    shareFrom: number,
    path: Expression | null = null,
    listeners: readonly string[] = [],
  ) {
    this.id = new Uint8Array(new BigUint64Array([Bun.hash.xxHash64(id)]).buffer);
    this.networks = config.clientIp.length === 0 ? null : new NetworkSet(config.clientIp);
    this.countries = config.country.length === 0 ? null : new Set(config.country);
    this.knocks = knockTests(config);
    const { agent = [] } = config;
    this.agents = agent.length === 0 ? null : agent.map(agentPattern);
    this.share = config.share === 1 ? null : new ClientShare(shareFrom, config.share, config.stickyBy);
    this.headers = config.header.map((test) => [new SentField(test[0]), namedTest(test)]);
    this.cookies = config.cookie.map(namedTest);
    this.queries = config.query.map(namedTest);
    this.methods =
      config.method === undefined || config.method.length === 0 ? null : matchedMethods(config.method, config);
    this.path = path;
    this.listeners = listeners.length === 0 ? null : new Set(listeners);
  }

  fits(head: RequestHead, method: Method = head.method, path = ""): boolean {
    if (this.listeners !== null && !this.listeners.has(head.sender.listenerName)) return false;
    if (this.methods !== null && this.methods[method] !== 1) return false;
    if (this.networks !== null && !this.networks.has(head.sender.clientIp)) return false;
    if (this.countries !== null && !this.countries.has(head.sender.country)) return false;
    for (const { read, test } of this.knocks) if (!test(read(head.sender.client ?? NO_CLIENT))) return false;
    if (this.agents !== null && !this.agents.some((pattern) => fitsAgent(pattern, head.sender.agentName))) return false;
    if (this.share !== null && !this.share.takes(head)) return false;
    for (const [field, test] of this.headers) if (!test.holds(headerValues(head, field))) return false;
    for (const test of this.cookies) if (!test.holds(cookieValues(head.headers, test.isNamed))) return false;
    for (const test of this.queries) if (!test.holds(queryValues(head, test.isNamed))) return false;
    return this.path === null || this.path.test(path === "" ? routedPath(head, head.sender.canonicalPath) : path);
  }

  groupsOf(head: RequestHead): readonly string[] | null {
    return this.path?.match(routedPath(head, head.sender.canonicalPath))?.map(encodedPart) ?? null;
  }
}

/** The methods that `match` takes, by their numbers: 1 at each that fits. docs/routing.md#match */
export function matchedMethods(names: readonly string[], { takesHeadWithGet = true }: MatchConfig): Uint8Array {
  const { allowed } = methodSet(names);
  if (takesHeadWithGet || names.includes("HEAD")) return allowed;
  const own = allowed.slice();
  own[Method.Head] = 0;
  return own;
}

/** A test of how a client knocks: by its handshake, or by the beginning of its connection. */
interface KnockTest {
  read(client: ClientPeer): string;
  test(value: string): boolean;
}

function knockTests({ ja4 = [], group = [], http2 = [] }: MatchConfig): readonly KnockTest[] {
  const asked: readonly (readonly [readonly string[], KnockTest["read"]])[] = [
    [ja4, ja4Of],
    [group, (client) => client.tlsGroup],
    [http2, (client) => client.opening?.text ?? ""],
  ];
  return asked.filter(([wanted]) => wanted.length > 0).map(([wanted, read]) => ({ read, test: oneOf(wanted) }));
}

/** Whether one of these texts or expressions fits. */
function oneOf(wanted: readonly string[]): KnockTest["test"] {
  const tests = wanted.map((one) => namedTest(["", one]));
  return (value) => value !== "" && tests.some(({ holds }) => holds(new Set([value])));
}

/** The demands on the values of a name, or of the names that an expression fits. */
interface NamedTest {
  /** @param name one character a byte */
  isNamed(name: string): boolean;
  /** @param values one character a byte */
  holds(values: ReadonlySet<string>): boolean;
}

function namedTest([name, wanted]: FieldTest): NamedTest {
  const isNamed = nameTest(name);
  if (typeof wanted === "boolean") return { isNamed, holds: (values) => values.size > 0 === wanted };
  const asked = fieldExpression(wanted);
  if (asked === null) {
    const text = Buffer.from(wanted, "utf8").latin1Slice();
    return { isNamed, holds: (values) => values.has(text) };
  }
  const expression: Expression = new LateExpression(asked.source);
  const fits = (value: string): boolean => expression.test(value);
  return asked.isForEvery
    ? { isNamed, holds: (values) => values.size > 0 && [...values].every(fits) }
    : { isNamed, holds: (values) => [...values].some(fits) };
}

function nameTest(name: string): NamedTest["isNamed"] {
  const source = expressionIn(name);
  if (source !== null) {
    const expression: Expression = new LateExpression(source);
    return (found) => expression.test(found);
  }
  const text = Buffer.from(name, "utf8").latin1Slice();
  return (found) => found === text;
}

/** The values of a field that goes on to an origin; of several lines, also what they are together (RFC 9110 §5.3). */
function headerValues(head: RequestHead, field: SentField): ReadonlySet<string> {
  const values = field.values(head);
  return new Set(values.length > 1 ? [...values, values.join(", ")] : values);
}

/** The values of a cookie in all Cookie fields, as RFC 6265 §4.2.1 has them: as they are, without quotes, and decoded. */
function cookieValues(headers: HeaderBlock, isNamed: NamedTest["isNamed"]): ReadonlySet<string> {
  const values = new Set<string>();
  for (let i = headers.find(HeaderId.Cookie); i >= 0; i = headers.find(HeaderId.Cookie, i + 1)) {
    for (const pair of headers.valueText(i).split(";")) {
      const [found, value] = dividedAt(pair, "=");
      if (!isNamed(trimmed(found, BLANKS))) continue;
      const text = trimmed(value, BLANKS);
      addReadings(values, text.replace(/^"(.*)"$/s, "$1"), text);
    }
  }
  return values;
}

/** The values of a parameter of the query: percent-decoded once, `+` as a space and as itself. */
function queryValues(head: RequestHead, isNamed: NamedTest["isNamed"]): ReadonlySet<string> {
  const values = new Set<string>();
  if (head.queryTo <= head.pathTo) return values;
  for (const pair of head.text(head.pathTo + 1, head.queryTo).split("&")) {
    const [found, value] = dividedAt(pair, "=");
    if (pair === "" || !(isNamed(decodeOnce(found)) || isNamed(decodeOnce(found.replaceAll("+", " "))))) continue;
    addReadings(values, value.replaceAll("+", " "), value);
  }
  return values;
}

function addReadings(values: Set<string>, ...texts: readonly string[]): void {
  for (const text of texts) values.add(text).add(decodeOnce(text));
}

function dividedAt(text: string, mark: string): [string, string] {
  const at = text.indexOf(mark);
  return at < 0 ? [text, ""] : [text.slice(0, at), text.slice(at + 1)];
}

/** Other whitespace is a part of a value. */
const BLANKS = " \t";

/** A part of the clients, always the same ones. */
class ClientShare {
  private readonly from: number;
  private readonly size: number;
  private readonly cookie: NamedTest["isNamed"] | null;
  private readonly isOfRequests: boolean;

  /** @param stickyBy as in MatchConfig */
  constructor(from: number, size: number, stickyBy: string) {
    this.from = from;
    this.size = size;
    this.isOfRequests = stickyBy === EACH_REQUEST;
    this.cookie = stickyBy === "" || this.isOfRequests ? null : nameTest(stickyBy);
  }

  /** A client that has the cookie stays where it is when its address changes. */
  takes(head: RequestHead): boolean {
    if (this.isOfRequests) return this.holds(head.draw());
    const [cookie] = this.cookie === null ? [] : cookieValues(head.headers, this.cookie);
    const key = cookie === undefined ? head.sender.clientIp : `cookie ${cookie}`;
    return this.holds(Bun.hash.xxHash32(key) / 2 ** 32);
  }

  /** @param place 0 to 1 */
  private holds(place: number): boolean {
    // Shares may be more than all together where other conditions tell their routes apart: then they begin anew.
    return (place - (this.from % 1) + 1) % 1 < this.size;
  }
}
