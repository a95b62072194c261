import { EMPTY_BYTES } from "../core/bytes.ts";
import { Fault } from "../core/fault.ts";
import { MAX_CLIENT_CERT_CHARS } from "../core/limits.ts";
import { CacheNote, CacheResult } from "./cache-result.ts";
import type { HeaderBlock } from "./header-block.ts";
import type {
  BodyFlow,
  BodySink,
  ClientPlaces,
  Held,
  RefusalPages,
  RepeatableBody,
  ReplySink,
  ReplySource,
  RequestNamer,
} from "./ports.ts";
import type { PrebuiltResponse } from "./prebuilt-response.ts";
import { ReplyHead, RequestHead } from "./request-head.ts";
import { requestScheme } from "./request-scheme.ts";
import type { RequestTrace } from "./request-trace.ts";
import type { Route } from "./route.ts";
import type { ConnectionEnds, ScriptCall } from "./script-call.ts";
import type { Target } from "./target.ts";
import type { UpstreamFailure } from "./upstream.ts";

/** The state of an exchange. */
export const enum ExchangeState {
  /** The head is being read. */
  Head = 0,
  /** The request is on its way down; nothing has been answered. */
  Open,
  /** The response's head is out. */
  Replying,
  /** The response is complete or cut. */
  Finished,
}

/** A request and its response. Pooled a worker: `reset`, never made anew. */
export class Exchange {
  readonly request: RequestHead = new RequestHead(this);
  readonly reply: ReplyHead = new ReplyHead();
  /** What belongs to trying targets: of the attempt under way, and of those that have failed. */
  readonly attempt: Attempt = new Attempt();
  sink!: ReplySink;
  flow!: BodyFlow;
  body!: BodySink;
  source!: ReplySource;
  pipeline!: Pipeline;
  client!: ClientPeer;
  /** Whether the connection comes from a trusted proxy, so that its X-Forwarded-* fields are believed. */
  fromTrustedProxy!: boolean;
  /** The client that a trusted proxy told of, UNKNOWN_CLIENT where it told of none readably; "" where there is none. */
  forwardedIp!: string;
  route!: Route | null;
  /** The way down: chosen when it begins. */
  phases!: readonly Phase[];
  /** The phase that comes next. */
  step!: number;
  state!: ExchangeState;
  /** Why the exchange was refused or cut, if it was. */
  fault!: Fault;
  /** When the turn of its first byte began, in milliseconds of `performance.now()`. */
  startedMs!: number;
  /** When the turn of its end began, likewise. */
  endedMs!: number;
  /** Bytes of the path that the matched prefix takes; -1 when the path must be rewritten (`forwardPath`). */
  prefixLength!: number;
  /** The sanitised path to forward, where it differs from the raw one; "" otherwise. */
  forwardPath!: string;
  /** The canonical, decoded path that routing used, where it differs from the raw one; "" otherwise. */
  canonicalPath!: string;
  /** What the groups of the route's expression have matched, from 1 on; null where there are none. */
  captures!: readonly (string | undefined)[] | null;
  /** Who the client has shown to be (`auth`); null where it was not asked. */
  identity!: AuthIdentity | null;
  /** The script that a FastCGI origin is to run; null where there is none. */
  script!: ScriptCall | null;
  /** The trace that the request belongs to; null where it is neither recorded nor told of. */
  trace!: RequestTrace | null;
  /** Largest request body for this request in bytes; 0 means no limit. */
  maxBodyBytes!: number;
  /** Request body bytes seen so far, decoded. */
  bodyBytes!: number;
  /** Response body bytes written so far. */
  sentBytes!: number;
  /** Whether the whole request body has been read. */
  bodyDone!: boolean;
  /** Bytes of the body where a phase holds it whole and hands it on as one that came so; -1 where none does. */
  wholeBodyBytes!: number;
  wafScore!: number;
  /** How many requests the exchange has served: tells one that waited for something whether it is still its own. */
  uses = 0;
  /** Extra detail of a refusal for its body (an allowed method list, a path); "" where there is none. */
  detail!: string;
  /** What must be stopped when the exchange is over: its time limit; null where it has none. */
  deadline!: Held | null;
  /** The body as it is kept for a second attempt; null where it is not. */
  replay!: RepeatableBody | null;
  /** What must be given back when the exchange is over; null when there is nothing. */
  held!: Held | null;
  /** What the cache did for the exchange. */
  cacheResult!: CacheResult;
  /** Whether the response goes into the cache, and why not. */
  cacheNote!: CacheNote;
  /** What the cache holds for the exchange: a place in a queue, a fetch, an entry; null where it holds nothing. */
  cacheUse!: Held | null;
  /** What rules of `waf.rules` have found and set; null where there are none. */
  rules!: RuleState | null;

  constructor(idle: IdleExchangePorts) {
    this.clear(idle);
  }

  /** The request is about to go down: who it came from and where its response goes. */
  open(sink: ReplySink, flow: BodyFlow, client: ClientPeer, pipeline: Pipeline): void {
    this.state = ExchangeState.Open;
    this.sink = sink;
    this.flow = flow;
    this.client = client;
    this.pipeline = pipeline;
  }

  /**
   * The address of the client, without a port: what a trusted proxy told, else where the connection comes from. What is
   * judged on the TCP peer asks `client.socketAddress`.
   */
  get clientIp(): string {
    return this.forwardedIp === "" ? this.client.address : this.forwardedIp;
  }

  /** The scheme that the client used, as a trusted proxy says, else as the connection is. */
  get scheme(): "https" | "http" {
    return requestScheme(this);
  }

  /** The client's country, two capital letters; "" where it is not known. docs/guards.md#countries-and-networks */
  get country(): string {
    const { places } = this.pipeline;
    return places === null ? "" : places.countryOf(this.clientIp);
  }

  /**
   * Lets go of everything: held resources are given back, received chunks do not outlive their request, and an exchange that
   * waits to be used again does not keep a configuration that has been replaced meanwhile.
   */
  release(): void {
    if (this.held !== null) this.held.release();
    this.held = null;
    this.attempt.target = null;
    this.rules = null;
    this.script = null;
    this.pipeline = IDLE_PIPELINE;
    this.phases = NO_PHASES;
    this.route = null;
    this.request.bytes = EMPTY_BYTES;
    this.request.headers.reset(EMPTY_BYTES);
    this.reply.headers.reset(EMPTY_BYTES);
    this.reply.trailers = null;
  }

  /** Makes the exchange ready for the next request, after `release`. The request's head is reset by its reader. */
  reset(idle: IdleExchangePorts): void {
    this.uses++;
    this.reply.reset();
    this.attempt.reset();
    this.clear(idle);
  }

  /** What every field is for a request of which nothing is known yet; declared above, it has its value from here alone. */
  private clear(idle: IdleExchangePorts): void {
    this.sink = idle.sink;
    this.flow = idle.flow;
    this.body = idle.body;
    this.source = idle.source;
    this.pipeline = idle.pipeline;
    this.client = NO_CLIENT;
    this.fromTrustedProxy = false;
    this.forwardedIp = "";
    this.route = null;
    this.phases = NO_PHASES;
    this.step = 0;
    this.state = ExchangeState.Head;
    this.fault = Fault.None;
    this.startedMs = 0;
    this.endedMs = 0;
    this.prefixLength = 0;
    this.forwardPath = "";
    this.canonicalPath = "";
    this.captures = null;
    this.identity = null;
    this.script = null;
    this.trace = null;
    this.maxBodyBytes = 0;
    this.bodyBytes = 0;
    this.sentBytes = 0;
    this.bodyDone = false;
    this.wholeBodyBytes = -1;
    this.wafScore = 0;
    this.detail = "";
    this.deadline = null;
    this.replay = null;
    this.held = null;
    this.cacheResult = CacheResult.None;
    this.cacheNote = CacheNote.None;
    this.cacheUse = null;
    this.rules = null;
  }
}

/**
 * What an exchange knows of the targets that it tries. One object for all its attempts: what fails leaves its mark for the
 * next.
 */
export class Attempt {
  upstreamLabel!: string;
  /** Milliseconds from the request's head to the response's; -1 where there was none. */
  upstreamMs!: number;
  /** The SPIFFE id of the server that has responded, where a sidecar asked it; "" for none. */
  serverId!: string;
  /** Whether the origin is asked for consent before the client is (Expect: 100-continue). */
  asksOrigin!: boolean;
  /** How often the request has been sent upstream, this time included. */
  count!: number;
  /** How often it was left out at no attempt; see `noteLeftOut`. */
  leftOuts!: number;
  /** The target that the exchange is under way to; null before it is sent and after an attempt has failed. */
  target!: Target | null;
  /** Bits of the targets that have failed this exchange; see BalancedTarget. */
  triedTargets!: number;
  /** Bits of the nodes whose breakers this exchange has counted as a failure: it counts once however often it is tried. */
  blamedNodes!: number;
  /** When the attempt began that has had no response yet, in milliseconds of `performance.now()`; -1 where there is none. */
  attemptedMs!: number;
  /** Whether the attempt is the one trial of a half-open circuit breaker. */
  isTrial!: boolean;
  /** Whether the attempt goes to a target that is out, since all are. */
  isForced!: boolean;

  constructor() {
    this.reset();
  }

  /** Makes it ready for the next request. */
  reset(): void {
    this.upstreamLabel = "";
    this.upstreamMs = -1;
    this.serverId = "";
    this.asksOrigin = false;
    this.count = 1;
    this.leftOuts = 0;
    this.target = null;
    this.triedTargets = 0;
    this.blamedNodes = 0;
    this.attemptedMs = -1;
    this.isTrial = false;
    this.isForced = false;
  }

  /**
   * Notes a failure. A request that crosses the GOAWAY of a connection may cross that of the next one too: up to a bound, that is
   * no attempt, and true.
   */
  noteLeftOut(failure: UpstreamFailure): boolean {
    if (failure.leftOut !== true || this.leftOuts >= MAX_LEFT_OUTS) return false;
    this.leftOuts++;
    return true;
  }
}

/** How often a request goes on to another connection where an origin that retires its connections leaves it out. */
const MAX_LEFT_OUTS = 4;

/** What rules of `waf.rules` know of a request. */
export interface RuleState {
  /** Whether a rule has said that nothing is refused. */
  readonly onlyDetects: boolean;
  /** Whether the firewall's own rules are passed over. */
  readonly skipsAll: boolean;
  /** Whether one of those is off. @param crs numbers of its counterparts @param param the name of what it matched in */
  turnsOff(crs: readonly number[], param: string): boolean;
}

const NO_PHASES: readonly Phase[] = [];

/** What an exchange points at while it is not in use. */
export interface IdleExchangePorts {
  readonly sink: ReplySink;
  readonly flow: BodyFlow;
  readonly body: BodySink;
  readonly source: ReplySource;
  readonly pipeline: Pipeline;
}

/**
 * The exchange is over, answered or cut: the taps are notified of it. Every protocol's way to end one, called once.
 * @param nowMs the turn's time
 */
export function finishExchange(ex: Exchange, nowMs: number): void {
  ex.state = ExchangeState.Finished;
  ex.endedMs = nowMs;
  ex.pipeline.onEnd(ex);
}

/** The client is gone or gives the request up: the handler stops. Nothing happens where it is over already. */
export function cancelExchange(ex: Exchange, nowMs: number): void {
  if (ex.state !== ExchangeState.Open && ex.state !== ExchangeState.Replying) return;
  ex.fault = Fault.Cancelled;
  ex.body.onBodyFault(ex, Fault.Cancelled);
  ex.source.onCancelled(ex);
  finishExchange(ex, nowMs);
}

/** What a phase says of a request. */
export const enum Verdict {
  /** Go on to the next phase. */
  Next = 0,
  /** The response has been given or begun, or the exchange is refused. */
  Done,
  /** The phase waits for something and will call `pipeline.resume`. */
  Wait,
}

/** One step of the way down. */
export interface Phase {
  readonly name: string;
  /** Whether the phase is about the request's body, so that a request without one passes it by. */
  readonly needsBody?: boolean;
  run(ex: Exchange): Verdict;
}

/** The end of the way down: it makes the response. */
export interface Handler {
  readonly name: string;
  handle(ex: Exchange): Verdict;
}

/** A look at the response on its way up. */
export interface ReplyTap {
  readonly name: string;
  /** Before the head in `ex.reply` is written: fields may still be taken out, and added (`ex.reply.addExtra`). */
  onHead(ex: Exchange): void;
  /** Before the head of a response by which the connection leaves HTTP is written. */
  onUpgrade?(ex: Exchange): void;
  /** Before a prebuilt response is written: only `ex.reply.addExtra` has an effect. */
  onFixed?(ex: Exchange, reply: PrebuiltResponse): void;
  /** After the exchange is over, answered or cut. */
  onEnd(ex: Exchange): void;
}

/** Looks at trailers that follow a request whose head has gone on already, or goes on without them. */
export interface TrailerGate {
  /** @returns Fault.None, or why the request is refused; the caller refuses it */
  judgeTrailers(ex: Exchange, trailers: HeaderBlock): Fault;
}

/** Looks at messages of a client that come after its request, over a WebSocket that ends here. */
export interface MessageGate {
  /** @returns Fault.None, or why the message is refused; the caller ends the exchange */
  judgeMessage(ex: Exchange, message: Uint8Array): Fault;
}

type FixedTap = ReplyTap & Required<Pick<ReplyTap, "onFixed">>;

/** The phases in their order and the taps. */
export class Pipeline {
  private readonly phases: readonly Phase[];
  private readonly phasesWithoutBody: readonly Phase[];
  private readonly headTaps: readonly ReplyTap[];
  private readonly fixedTaps: readonly FixedTap[];
  private readonly endTaps: readonly ReplyTap[];
  /** Null where trailers are not wanted. */
  readonly trailerGate: TrailerGate | null;
  /** Null where messages are not looked at. Set where the way is wired. */
  messages: MessageGate | null = null;
  /** What placeholders ask where clients are; null without `server.geo`. Set where the way is wired. */
  places: ClientPlaces | null = null;
  private readonly names: RequestNamer | null;
  private readonly pages: RefusalPages | null;

  /**
   * @param phases in the order of the way down
   * @param headTaps called by the sink when a response's head is about to be written, prebuilt or not
   * @param endTaps called when the exchange is over
   * @param trailerGate asked by the protocol engines before trailers follow a head
   * @param names gives ids to requests; null where they have none
   * @param pages what browsers get in place of a refusal; null where all clients are programs
   */
  constructor(
    phases: readonly Phase[],
    headTaps: readonly ReplyTap[],
    endTaps: readonly ReplyTap[],
    trailerGate: TrailerGate | null = null,
    names: RequestNamer | null = null,
    pages: RefusalPages | null = null,
  ) {
    this.phases = phases;
    this.phasesWithoutBody = phases.filter((phase) => phase.needsBody !== true);
    this.headTaps = headTaps;
    this.fixedTaps = headTaps.filter((tap): tap is FixedTap => tap.onFixed !== undefined);
    this.endTaps = endTaps;
    this.trailerGate = trailerGate;
    this.names = names;
    this.pages = pages;
  }

  /** The id of a request, which gets one where it has none yet; "" where requests have none. */
  nameOf(ex: Exchange): string {
    return this.names === null ? "" : this.names.idOf(ex);
  }

  /**
   * The same way down and up with other phases in place of these, in their order: for a request that is explained and not served, so
   * that looking at phases costs those that are nothing.
   */
  traced(instead: (phase: Phase) => Phase): Pipeline {
    const pipeline = new Pipeline(this.phases.map(instead), this.headTaps, this.endTaps, this.trailerGate);
    pipeline.places = this.places;
    return pipeline;
  }

  /** Sends a request down from the first phase. */
  start(ex: Exchange): void {
    ex.step = 0;
    ex.phases = ex.request.hasBody() ? this.phases : this.phasesWithoutBody;
    this.resume(ex);
  }

  /** Goes on after the phase that waited. */
  resume(ex: Exchange): void {
    const { phases } = ex;
    let verdict = Verdict.Next;
    while (verdict === Verdict.Next && ex.step < phases.length) verdict = phases[ex.step++]!.run(ex);
  }

  /** Lets the taps see and amend the head. For sinks, which call it once a response. */
  onHead(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onHead(ex);
  }

  /** Lets the taps see and amend the head of a response by which the connection leaves HTTP. For sinks, likewise. */
  onUpgrade(ex: Exchange): void {
    for (let i = 0; i < this.headTaps.length; i++) this.headTaps[i]!.onUpgrade?.(ex);
  }

  /** Lets the taps add to a prebuilt response. For sinks, likewise. @returns the response to write */
  onFixed(ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse {
    const shown = reply.isRefusal ? this.refusalFor(ex, reply) : reply;
    for (let i = 0; i < this.fixedTaps.length; i++) this.fixedTaps[i]!.onFixed(ex, shown);
    return shown;
  }

  /** Before the first phase, what is known of a head may be wrong: it is what the refusal is about, unless that is its size. */
  private refusalFor(ex: Exchange, reply: PrebuiltResponse): PrebuiltResponse {
    if (ex.step === 0 && !isTooMuch(ex.fault)) return reply;
    const shown = this.pages === null ? reply : this.pages.shown(ex, reply);
    return isOfFunction(ex.fault) ? named(shown, this.nameOf(ex)) : shown;
  }

  /** Tells the taps that the exchange is over. */
  onEnd(ex: Exchange): void {
    for (let i = 0; i < this.endTaps.length; i++) this.endTaps[i]!.onEnd(ex);
  }
}

/** Whether a head was refused for its size alone: what was read of it is in order. */
function isTooMuch(fault: Fault): boolean {
  return (
    fault === Fault.RequestLineTooLong ||
    fault === Fault.HeaderLineTooLong ||
    fault === Fault.HeadTooLarge ||
    fault === Fault.TooManyFields
  );
}

/** Whether code of the user's own has failed: what the client is told leads to the line of the log that says where. docs/functions.md#isolation */
function isOfFunction(fault: Fault): boolean {
  return fault === Fault.FunctionFailed || fault === Fault.FunctionTimeout || fault === Fault.FunctionGone;
}

/** The same response with the id of its request. */
function named(reply: PrebuiltResponse, id: string): PrebuiltResponse {
  return reply.with([...reply.fields, ["X-Request-Id", id]]);
}

/** An empty pipeline, where there are no requests. */
export const IDLE_PIPELINE: Pipeline = new Pipeline([], [], []);

/** Who a request comes from, as `auth` found it. docs/authentication.md */
export interface AuthIdentity {
  /** The user's name, as text; "" where the method knows of none. */
  readonly user: string;
  /** Whether `Authorization` was for the gateway, and does not go on. */
  readonly hidesCredentials: boolean;
  /** What else is known of the user, as text by name; a list is joined with commas. */
  readonly claims: Readonly<Record<string, string>>;
  /** Fields that the request gets before it goes on, one character a byte: no client's own with their names is left. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  /** Fields that the response to the client gets, such as Set-Cookie, likewise; no stored response has them. */
  readonly responseFields: readonly (readonly [name: string, value: string])[];
}

/** What is known of a user of whom a method knows the name alone. */
export const NO_IDENTITY_PARTS: Pick<AuthIdentity, "claims" | "fields" | "responseFields"> = {
  claims: {},
  fields: [],
  responseFields: [],
};

/** What a client's verified certificate says of it. */
export interface ClientIdentity {
  /** The distinguished name, in one line as RFC 2253 writes it, such as `CN=client,O=Example`. */
  readonly subject: string;
  /** URIs among its alternative names, such as `spiffe://mesh/ns/default/sa/client`, as they stand there. */
  readonly uris: readonly string[];
  /** DNS names among its alternative names. */
  readonly dnsNames: readonly string[];
  /** SHA-256 of the certificate, lower-case hexadecimal without colons. */
  readonly sha256: string;
}

/**
 * The address of a client that a proxy forwards for without naming it readably: no list of addresses holds it.
 * docs/security.md#client-addresses
 */
export const UNKNOWN_CLIENT = "unknown";

/** A socket that can be asked who is at its other end, while it is open. */
export interface AddressSource {
  /** Without a port; undefined where the peer is gone. */
  readonly remoteAddress: string | undefined;
}

/** A socket with TLS that can be asked for its version, while it is open. */
export interface TlsVersionSource {
  /** Such as `TLSv1.3`. */
  getTLSVersion(): string;
}

/** Who is at the other end of a client connection; one object a connection. */
export class ClientPeer {
  readonly tls: boolean;
  /** Port that the client connected to. */
  readonly localPort: number;
  /** From its certificate, where the listener asks for one and it has shown one that is trusted; else null. */
  readonly identity: ClientIdentity | null;

  /** Where the client was going, as `address:port`, when a rule of the firewall led it here; "" where it came by itself. */
  destination = "";
  /** The client's port, where a PROXY header told it; else 0. */
  toldPort = 0;

  /** What its socket tells of both ends; null where there is none to be asked. */
  ends: ConnectionEnds | null = null;
  /** What scripts are told of the ends: encoded parameters of this one, and of both. Made for the first of them. */
  scriptParams: { readonly server: Buffer; readonly direct: Buffer } | null = null;

  private readonly told: string;
  private found: string;
  /** Who is to be asked for the TCP peer; null when it is known. */
  private source: AddressSource | null;
  private lines: Buffer | null = null;
  private readonly secured: TlsVersionSource | null;

  /**
   * @param from the TCP peer's address, or its socket, which is queried on first use: a system call that a
   * response of the gateway's own does not need
   * @param toldAddress what a PROXY header told, UNKNOWN_CLIENT where it names no client; "" where there was none
   * @param secured says the version of TLS; null where there is none, or its handshake is not over
   */
  constructor(
    from: string | AddressSource,
    tls: boolean,
    localPort: number,
    toldAddress = "",
    identity: ClientIdentity | null = null,
    secured: TlsVersionSource | null = null,
  ) {
    this.source = typeof from === "string" ? null : from;
    this.found = typeof from === "string" ? unmapped(from) : "";
    this.told = unmapped(toldAddress);
    this.tls = tls;
    this.localPort = localPort;
    this.identity = identity;
    this.secured = secured;
  }

  /** The version of TLS that the client speaks, such as `TLSv1.3`; "" in clear text. */
  get tlsVersion(): string {
    return this.secured === null ? "" : this.secured.getTLSVersion();
  }

  /**
   * The TCP peer: the load balancer, where a PROXY header named a client behind it; else the same as `address`. "" where
   * the peer was gone before it was first queried.
   */
  get socketAddress(): string {
    if (this.source !== null) {
      this.found = unmapped(this.source.remoteAddress ?? "");
      this.source = null;
    }
    return this.found;
  }

  /**
   * Where the connection comes from, without a port: what a PROXY header told, else the TCP peer. IPv4-mapped addresses
   * are written as IPv4.
   */
  get address(): string {
    return this.told === "" ? this.socketAddress : this.told;
  }

  /**
   * The lines that tell an origin who the client is, where no trusted proxy is between, up to the name of the host that
   * it asked for. Made once a connection.
   */
  get forwardLines(): Buffer {
    this.lines ??= Buffer.from(
      `X-Forwarded-For: ${this.address}\r\nX-Real-IP: ${this.address}\r\nX-Forwarded-Proto: ${this.tls ? "https" : "http"}\r\n${this.certificateLine}X-Forwarded-Host: `,
    );
    return this.lines;
  }

  /**
   * The line that tells an origin whom the client's certificate names, with its line break; "" where none was verified.
   * The form is the one that Envoy has made usual. docs/tls.md#client-certificates
   */
  get certificateLine(): string {
    if (this.identity === null) return "";
    const { sha256, subject, uris, dnsNames } = this.identity;
    const parts = [`Hash=${sha256}`, `Subject=${quoted(subject)}`, ...uris.map((uri) => `URI=${plain(uri)}`)];
    parts.push(...dnsNames.map((name) => `DNS=${plain(name)}`));
    let value = "";
    for (const part of parts) if (value.length + part.length < MAX_CLIENT_CERT_CHARS) value += `${value && ";"}${part}`;
    return `X-Forwarded-Client-Cert: ${value}\r\n`;
  }

  /** Whether the connection comes from the TCP peer itself. */
  isDirect(): boolean {
    return this.address === this.socketAddress;
  }
}

/** Whether an address is that of this machine. */
export function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

/** The address of the peer of a UNIX socket: its user's number, -1 where the system does not tell. */
export function unixAddress(uid: number): string {
  return uid < 0 ? UNIX : `${UNIX}${uid}`;
}

/** Whether an address is that of the peer of a UNIX socket. */
export function isUnixPeer(address: string): boolean {
  return address.startsWith(UNIX);
}

const UNIX = "unix:";

/** An IPv4-mapped address of IPv6 as IPv4, any other as it is. */
export function unmapped(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

/** Between quotes; what could end them, or the line, is escaped. */
function quoted(text: string): string {
  return `"${text
    .toWellFormed()
    .replace(/[^\x20-\x7e]/gu, escaped)
    .replace(/["\\]/g, "\\$&")}"`;
}

/** Without quotes, so that nothing in it may divide the parts. */
function plain(text: string): string {
  return text.toWellFormed().replace(/[^\x21-\x7e]|[";,\\]/gu, escaped);
}

function escaped(text: string): string {
  return encodeURIComponent(text) === text
    ? `%${text.charCodeAt(0).toString(16).toUpperCase()}`
    : encodeURIComponent(text);
}

/** Whether a response may still be given. */
export function mayRespond(ex: Exchange): boolean {
  return ex.state === ExchangeState.Open || ex.state === ExchangeState.Replying;
}

export const NO_CLIENT: ClientPeer = new ClientPeer("", false, 0);

/** The last phase: the route's handler makes the response. */
export class DispatchPhase implements Phase {
  readonly name = "dispatch";

  run(ex: Exchange): Verdict {
    return ex.route!.handler.handle(ex);
  }
}
