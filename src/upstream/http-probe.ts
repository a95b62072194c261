import { FaultDetail } from "../core/fault-detail.ts";
import { ipVersion } from "../core/ip-address.ts";
import { MAX_RESPONSE_FIELDS } from "../core/limits.ts";
import { isSocketShortage } from "../core/shortage.ts";
import { lowestDescriptor } from "../net/descriptors.ts";
import { isNoName, type NameResolver } from "../net/name-resolver.ts";
import type { HandshakeError } from "../net/tls-upgrade.ts";
import type { ProbedApplication } from "./application-probe-dialog.ts";
import { connectDetail, hasFailed, nameDetail } from "./failure-detail.ts";
import { H1ProbeDialog } from "./h1-probe-dialog.ts";
import { H2ProbeDialog } from "./h2-probe-dialog.ts";
import { dialOptions, isSocket } from "./origin-socket.ts";
import { type Certified, denialDetail, tlsOptions, trustDenial, type UpstreamTls } from "./origin-trust.ts";
import { PLAIN_QUESTION, type ProbeDialog, ProbeFailure, type ProbeQuestion, questionFields } from "./probe-dialog.ts";

/** Where a probe goes. */
export interface ProbeOrigin {
  readonly hostname: string;
  readonly port: number;
  /** The path of a UNIX socket, in the place of name and port; "" or none for TCP. */
  readonly socketPath?: string;
  /** The Host field. */
  readonly authority: string;
  /** Null for cleartext. */
  readonly tls: UpstreamTls | null;
  /** Whether the origin speaks HTTP/2. */
  readonly isHttp2?: boolean;
  /** Whether the gateway takes the forms of old origins. docs/upstreams.md#old-origins */
  readonly isLenient?: boolean;
  /** The question if it is a gRPC server; absent for others. */
  readonly grpc?: GrpcProbe;
  /** The question beside the path; absent for a GET whose status is enough. */
  readonly question?: ProbeQuestion;
  /** The folder of the scripts of an origin that speaks FastCGI; absent for HTTP. */
  readonly scriptRoot?: string;
  /** How to ask an application of uWSGI or SCGI; absent for all others. */
  readonly application?: ProbedApplication;
  /** Fields of a response's head at most. */
  readonly maxResponseFields?: number;
}

/** The question to a gRPC server. docs/upstreams.md#health-checks */
export interface GrpcProbe {
  /** Put before the path of the call: "" or `/api`. */
  readonly basePath: string;
  /** Whether a server without the service for health counts as one that does not serve. */
  readonly mustTell: boolean;
}

/** The result of a probe. */
export interface ProbeOutcome {
  /** 0 when no response came. */
  readonly statusCode: number;
  readonly latencyMs: number;
  /** Why no response came, or why its body is not a good one; "" when neither. */
  readonly error: string;
  /** The cause as `fault_detail` names it; absent if it has no name for it. */
  readonly detail?: FaultDetail;
  /** Whether it was this machine that had no descriptor, port or memory for it. */
  readonly isOurs?: boolean;
}

/**
 * Asks an origin for a page on a connection of its own, and reads the head of the response as the route's requests read it.
 * For the control thread: it makes promises and closures. Redirects are responses, and no proxy of the environment is used.
 */
export function probeHttp(
  origin: ProbeOrigin,
  path: string,
  timeoutMs: number,
  names: NameResolver,
): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    new HttpProbe(origin, path, names, resolve).start(timeoutMs);
  });
}

/** Only makes a connection to an origin, with its TLS handshake, and closes it. `error` is "" if it came about. */
export function probeConnection(origin: ProbeOrigin, timeoutMs: number, names: NameResolver): Promise<ProbeOutcome> {
  return new Promise((resolve) => {
    new HttpProbe(origin, null, names, resolve).start(timeoutMs);
  });
}

type ProbeSocket = Certified & { write(bytes: Uint8Array): number; terminate(): void };

class HttpProbe {
  private readonly origin: ProbeOrigin;
  /** Null if a connection is enough. */
  private readonly dialog: ProbeDialog | null;
  private readonly resolve: (outcome: ProbeOutcome) => void;
  private readonly startedMs = performance.now();
  private socket: ProbeSocket | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private isOver = false;
  /** Whether the connection, with its handshake, is there. */
  private isReady = false;
  private readonly names: NameResolver;
  /** Whether the origin is found by a name. */
  private readonly isNamed: boolean;
  /** The address that is being tried; "" for none. */
  private address = "";

  constructor(origin: ProbeOrigin, path: string | null, names: NameResolver, resolve: (outcome: ProbeOutcome) => void) {
    this.origin = origin;
    this.names = names;
    this.isNamed = ipVersion(origin.hostname) === 0 && !isSocket(origin.socketPath);
    this.resolve = resolve;
    this.dialog = path === null ? null : dialogOf(origin, path);
  }

  start(timeoutMs: number): void {
    const { hostname } = this.origin;
    this.timer = setTimeout(() => {
      if (this.isNamed && this.address !== "" && this.socket === null) this.names.failed(hostname, this.address);
      // The name servers are slow, which says nothing of the origin.
      if (this.isNamed && this.address === "")
        this.end(0, connectFailure({ code: "ETIMEOUT" }), FaultDetail.DnsTimeout, true);
      else this.end(0, `no response within ${timeoutMs} ms`, this.lateness());
    }, timeoutMs);
    if (!this.isNamed) this.connect(hostname, []);
    else {
      this.names.resolve(hostname, ([address, ...others], failure) => {
        if (address === undefined)
          this.end(0, connectFailure({ code: failure }), nameDetail(failure), !isNoName(failure));
        else this.connect(address, others);
      });
    }
  }

  /** @param others addresses for when this one takes no connection */
  private connect(address: string, others: readonly string[]): void {
    if (this.isOver) return;
    this.address = address;
    const { hostname, tls, isHttp2 } = this.origin;
    const socket = {
      open: (opened: ProbeSocket) => {
        this.socket = opened;
        if (this.isOver) opened.terminate();
        else if (tls === null) this.send(opened);
      },
      handshake: (opened: ProbeSocket, ok: boolean, error: HandshakeError | null | undefined) => {
        if (tls === null) return;
        const denial = trustDenial(tls, opened, ok, error);
        if (denial === "") this.send(opened);
        else this.end(0, `TLS: ${error ? codeOf(error) : denial}`, denialDetail(denial, error));
      },
      data: (_opened: ProbeSocket, chunk: Buffer) => this.onData(chunk),
      end: () => this.onClose(),
      close: (_opened: ProbeSocket, reason?: unknown) => this.onClose(reason),
      error: (_opened: ProbeSocket, error: unknown) => this.end(0, codeOf(error), this.loss(ProbeFailure.Reset)),
      connectError: () => {},
    };
    const options = {
      ...dialOptions(this.origin, address),
      socket,
      ...(tls === null ? {} : { tls: tlsOptions(tls, isHttp2 === true) }),
    };
    Bun.connect(options as never).catch((error: unknown) => {
      const [next, ...left] = others;
      const isOurs = lowestDescriptor() < 0 || isSocketShortage((error as { code?: unknown } | null)?.code);
      if (isOurs)
        return this.end(0, "this machine has no ports or memory left for a connection", FaultDetail.None, true);
      if (this.isNamed) this.names.failed(hostname, address);
      if (next === undefined) this.end(0, connectFailure(error), connectDetail(codeOf(error)));
      else this.connect(next, left);
    });
  }

  private send(socket: ProbeSocket): void {
    if (this.isOver) return;
    this.isReady = true;
    if (this.dialog === null) this.end(0, "");
    else socket.write(this.dialog.request);
  }

  private onData(chunk: Buffer): void {
    if (this.isOver || this.dialog === null) return;
    this.onStatus(this.dialog.take(chunk));
  }

  private onStatus(status: number): void {
    if (status < 0) this.end(0, "a malformed response", this.dialog!.causeOf(ProbeFailure.Malformed));
    else if (status > 0) this.end(status, this.origin.question?.body?.faultOf(this.dialog!.body()) ?? "");
  }

  private onClose(reason?: unknown): void {
    if (this.isOver) return;
    if (this.isReady) this.onStatus(this.dialog?.close() ?? 0);
    this.end(0, "the connection was closed", this.loss(hasFailed(reason) ? ProbeFailure.Reset : ProbeFailure.Closed));
  }

  /** How the connection was lost. */
  private loss(failure: ProbeFailure): FaultDetail {
    if (!this.isReady) return this.origin.tls === null ? FaultDetail.None : FaultDetail.TlsHandshakeClosed;
    return this.dialog?.causeOf(failure) ?? FaultDetail.None;
  }

  private lateness(): FaultDetail {
    if (this.socket === null) return FaultDetail.ConnectTimeout;
    if (!this.isReady) return FaultDetail.TlsHandshakeTimeout;
    return this.dialog?.causeOf(ProbeFailure.Late) ?? FaultDetail.None;
  }

  private end(statusCode: number, error: string, detail: FaultDetail = FaultDetail.None, isOurs = false): void {
    if (this.isOver) return;
    this.isOver = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.socket?.terminate();
    const outcome = { statusCode, latencyMs: performance.now() - this.startedMs, error };
    const known = detail === FaultDetail.None ? outcome : { ...outcome, detail };
    this.resolve(isOurs ? { ...known, isOurs } : known);
  }
}

function dialogOf(origin: ProbeOrigin, path: string): ProbeDialog {
  const maxFields = origin.maxResponseFields ?? MAX_RESPONSE_FIELDS;
  const { question = PLAIN_QUESTION, authority } = origin;
  if (origin.scriptRoot !== undefined) {
    const { FastCgiProbeDialog } = require("./fastcgi-probe-dialog.ts") as typeof import("./fastcgi-probe-dialog.ts");
    return new FastCgiProbeDialog(origin.scriptRoot, path, authority, question, maxFields);
  }
  if (origin.application !== undefined) {
    const { ApplicationProbeDialog } =
      require("./application-probe-dialog.ts") as typeof import("./application-probe-dialog.ts");
    return new ApplicationProbeDialog(origin.application, path, authority, question, maxFields);
  }
  const fields = questionFields(question).map(([name, value]) => `${name}: ${value}`);
  const lines = [`${question.method} ${path} HTTP/1.1`, `Host: ${authority}`, ...fields, "Connection: close"];
  const head = Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
  const readsBody = question.body !== null;
  return origin.isHttp2 === true
    ? new H2ProbeDialog(head, readsBody, origin.tls !== null, maxFields)
    : new H1ProbeDialog(head, question.method === "HEAD", readsBody, origin.isLenient === true, maxFields);
}

/** Why there is no connection, in words. */
export function connectFailure(error: unknown): string {
  const code = codeOf(error);
  if (code === "ECONNREFUSED") return "connection refused";
  if (code === "ENOENT") return "no such socket";
  if (code === "EACCES") return "no permission to connect to the socket";
  return code === "ENOTFOUND" || code.startsWith("DNS_") ? "name not found" : code;
}

/** A word for an error that tells no address. */
function codeOf(error: unknown): string {
  const code = (error as { code?: unknown } | null | undefined)?.code;
  return typeof code === "string" && code !== "" ? code : "failed";
}
