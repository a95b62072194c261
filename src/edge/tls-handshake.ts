import { Fault } from "../core/fault.ts";
import { TimerNode, type TimerOwner } from "../core/timer-wheel.ts";
import type { ClientPeer } from "../message/client-peer.ts";
import type { ByteSocket } from "../net/byte-socket.ts";
import { InputBuffer } from "../net/socket-buffers.ts";
import type { HandshakeError, TlsSocket } from "../net/tls-upgrade.ts";
import { ClientHelloParser, HelloOutcome, MAX_CLIENT_HELLO_WIRE_BYTES } from "../proto/tls/client-hello-parser.ts";
import { keyGroup } from "../proto/tls/key-group.ts";
import { offersChallenge, type TlsChoice } from "./certificate-store.ts";
import { NO_CERTIFICATE, type ShownCertificate, shownCertificate } from "./client-certificate.ts";
import type { ClientConnection } from "./client-connection.ts";
import type { ClientSocketPorts } from "./client-socket.ts";
import type { PendingHandshake } from "./handshake-set.ts";
import { DRAIN_IDLE_MS } from "./limits.ts";
import type { ForwardedConnection, PassedNames, TlsEndpoint } from "./tls-endpoint.ts";

/** Milliseconds that a handshake waits for its certificate. */
const ON_DEMAND_WAIT_MS = 30_000;

/** Who goes on with a connection when its handshake has come to something. */
export interface HandshakeHandler {
  /** The ClientHello is complete: TLS is laid on the socket. @returns whether that could be done */
  upgrade(opening: TlsHandshake, choice: TlsChoice, received: Uint8Array): boolean;
  /** The handshake is over. @param protocol what ALPN settled on; "" if the client offered nothing */
  secured(opening: TlsHandshake, socket: TlsSocket, protocol: string, shown: ShownCertificate): void;
  /** The name is passed through: the connection goes on as it is. */
  passed(opening: TlsHandshake, connection: ForwardedConnection, received: Uint8Array): void;
  /** There will be none: the client learns why, as far as it can be. @param alert what TLS calls it: RFC 8446 §6 */
  refused(opening: TlsHandshake, fault: Fault, alert: Alert): void;
}

/** Alerts that are sent before there is a key. RFC 8446 §6. */
export const enum Alert {
  UnexpectedMessage = 10,
  DecodeError = 50,
  UnrecognizedName = 112,
}

const enum Stage {
  Hello = 0,
  /** A certificate is being obtained for the name that the client asks for. */
  Waiting,
  Handshake,
  Over,
}

/**
 *   Hello ──complete──▶ [Waiting] ──▶ Handshake ──done──▶ (HTTP)
 *     └───────────┬──────────────────────┴──time is up, refused, gone──▶ Over
 *
 * A connection to a TLS port until its handshake is done. What a client can make us hold here is one ClientHello and one
 * handshake of the library, for `header_timeout`.
 */
export class TlsHandshake implements ClientConnection, TimerOwner, PendingHandshake {
  place = -1;
  readonly peer: ClientPeer;
  /** The accepted socket; with TLS on it, it is left alone. */
  readonly socket: ByteSocket;
  private readonly ctx: ClientSocketPorts;
  private readonly endpoint: TlsEndpoint;
  private readonly handler: HandshakeHandler;
  private readonly parser: ClientHelloParser = new ClientHelloParser();
  private readonly input: InputBuffer = new InputBuffer();
  private readonly timer: TimerNode;
  private secure: TlsSocket | null = null;
  private stage: Stage = Stage.Hello;
  private isChallenge = false;
  /** See `clientDemand`. */
  demand = "";
  private clientAuth: TlsChoice["clientAuth"] = "none";
  /** See `keyGroup`; "" before the ClientHello has come. */
  group = "";

  constructor(
    socket: ByteSocket,
    ctx: ClientSocketPorts,
    endpoint: TlsEndpoint,
    peer: ClientPeer,
    handler: HandshakeHandler,
  ) {
    this.socket = socket;
    this.ctx = ctx;
    this.endpoint = endpoint;
    this.peer = peer;
    this.handler = handler;
    this.timer = new TimerNode(this);
    ctx.wheel.arm(this.timer, ctx.turn.nowMs + ctx.settings.headerTimeoutMs);
    endpoint.handshakes.add(this);
  }

  onData(chunk: Uint8Array): void {
    if (this.stage === Stage.Waiting) {
      this.hold(chunk);
      return;
    }
    if (this.stage !== Stage.Hello) return;
    this.input.append(chunk);
    const outcome = this.parser.push(chunk, 0, chunk.length);
    if (outcome === HelloOutcome.Complete) this.choose();
    else if (outcome !== HelloOutcome.NeedMore) {
      const isOther = outcome === HelloOutcome.NotTls || outcome === HelloOutcome.Unexpected;
      const isPlain = outcome === HelloOutcome.NotTls && isUpperLetter(chunk[0]!);
      const fault = isPlain ? Fault.PlainHttpOnTls : Fault.BadClientHello;
      this.refuse(fault, isOther ? Alert.UnexpectedMessage : Alert.DecodeError);
    }
  }

  onDrain(): void {}

  /** The client has ended too early; with no byte sent it only tried whether the port is open. */
  onEnd(): void {
    if (this.stage === Stage.Handshake || this.input.length > 0) this.fail(this.endFault());
    else this.cut();
  }

  onClose(): void {
    if (this.stage === Stage.Handshake) this.fail(Fault.HandshakeFailed);
    else this.close();
  }

  onException(error: unknown): void {
    this.ctx.observer.onException(error);
    this.cut();
  }

  onTimer(): void {
    if (this.stage === Stage.Hello && this.input.length === 0) this.cut();
    else this.fail(Fault.HandshakeTimeout);
  }

  giveUp(): void {
    this.fail(Fault.TooManyHandshakes);
  }

  /** The gateway is shutting down: a handshake that is under way may become a request, so it has a moment. */
  drain(): void {
    if (this.stage !== Stage.Over) this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + DRAIN_IDLE_MS);
  }

  /** A handshake is bounded by itself. */
  idleMs(): number {
    return -1;
  }

  closeIdle(): void {}

  /** The library has laid TLS on the socket, which is the one to close from now on. */
  onUpgraded(secure: TlsSocket): void {
    this.secure = secure;
  }

  /** The library's handshake is over. */
  onHandshake(secure: TlsSocket, ok: boolean, error: HandshakeError | null): void {
    if (this.stage !== Stage.Handshake) return;
    const shown = shownCertificate(secure, this.clientAuth !== "none", this.ctx.clock.nowMs);
    const isUntrusted = shown.isThere && (!!error || !shown.isCurrent);
    // The library says that a handshake is not ok for a certificate that it cannot verify, too.
    const isIgnored = isUntrusted && this.clientAuth === "any" && !isFailed(error);
    if (isUntrusted && !isIgnored) this.closeSecure(secure, Fault.ClientCertificateRefused);
    else if (!ok && !isIgnored) this.closeSecure(secure, Fault.HandshakeFailed);
    // RFC 8737 §3: the authority has seen the certificate, and nothing follows.
    else if (this.isChallenge) this.closeSecure(secure, Fault.None);
    else {
      this.leave();
      this.ctx.observer.onSecured(secure.isSessionReused(), this.group);
      this.handler.secured(this, secure, secure.alpnProtocol || "", isIgnored ? NO_CERTIFICATE : shown);
    }
  }

  /** Goes on with what there is, or waits for a certificate to be obtained. */
  private choose(): void {
    const { wanted, certificates, passed } = this.endpoint;
    const { serverName, protocols } = this.parser.hello!;
    if (passed !== null && serverName !== "" && this.pass(passed, serverName)) return;
    // A listener that opens no TLS says nothing in it either.
    if (certificates.isEmpty && passed?.isBusy(this.ctx.listener.name) === true) return this.fail(Fault.NoCertificate);
    const isMissing =
      wanted !== null && serverName !== "" && !certificates.has(serverName) && !offersChallenge(protocols);
    if (!isMissing || !wanted.wait(serverName, this.resume)) {
      this.beginHandshake();
      return;
    }
    this.stage = Stage.Waiting;
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + ON_DEMAND_WAIT_MS);
  }

  /** The whole ClientHello. */
  get helloBytes(): Uint8Array {
    return this.parser.bytes;
  }

  /** The name that the client has asked for; "" for none. */
  get serverName(): string {
    return this.parser.hello?.serverName ?? "";
  }

  /** Hands the connection on where its name is passed through. */
  private pass(names: PassedNames, serverName: string): boolean {
    const connection = names.forward(this.ctx, this.socket, this.peer, serverName, false);
    if (connection === null) return false;
    const { bytes, from, to } = this.input;
    this.leave();
    this.handler.passed(this, connection, bytes.subarray(from, to));
    return true;
  }

  private readonly resume = (): void => {
    if (this.stage !== Stage.Waiting) return;
    this.ctx.wheel.arm(this.timer, this.ctx.turn.nowMs + this.ctx.settings.headerTimeoutMs);
    this.beginHandshake();
  };

  /** What follows a ClientHello while its handshake waits, as early data does. */
  private hold(chunk: Uint8Array): void {
    this.input.append(chunk);
    if (this.input.length > MAX_CLIENT_HELLO_WIRE_BYTES + MAX_EARLY_BYTES) this.fail(Fault.HandshakeFailed);
  }

  private beginHandshake(): void {
    const hello = this.parser.hello!;
    const { serverName, protocols } = hello;
    const { bytes, from, to } = this.input;
    const choice = this.endpoint.certificates.contextFor(serverName, protocols, hello, this.endpoint.hasHttp2);
    if (choice === null) {
      this.refuse(Fault.NoCertificate, Alert.UnrecognizedName);
      return;
    }
    this.demand = choice.demand;
    this.clientAuth = choice.clientAuth;
    this.group = keyGroup(hello, choice.curves);
    this.isChallenge = offersChallenge(protocols);
    this.stage = Stage.Handshake;
    const received = bytes.subarray(from, to);
    this.input.clear();
    if (!this.handler.upgrade(this, choice, received)) this.fail(Fault.HandshakeFailed);
  }

  /** Closes in order, so that the library's alert arrives. */
  private closeSecure(secure: TlsSocket, fault: Fault): void {
    if (fault !== Fault.None) this.ctx.observer.onRefused(fault, this.peer.address);
    this.close();
    secure.end();
  }

  private endFault(): Fault {
    return this.stage === Stage.Hello ? Fault.BadClientHello : Fault.HandshakeFailed;
  }

  /** Refuses while the socket is still without TLS, so that something can be said. */
  private refuse(fault: Fault, alert: Alert): void {
    this.leave();
    this.input.clear();
    this.ctx.observer.onRefused(fault, this.peer.address);
    this.handler.refused(this, fault, alert);
  }

  private fail(fault: Fault): void {
    if (this.stage === Stage.Over) return;
    this.ctx.observer.onRefused(fault, this.peer.address);
    this.cut();
  }

  private cut(): void {
    if (this.stage === Stage.Over) return;
    this.close();
    (this.secure ?? this.socket).terminate();
  }

  private close(): void {
    if (this.stage === Stage.Over) return;
    this.leave();
    this.input.clear();
    this.ctx.observer.onClose();
  }

  private leave(): void {
    if (this.stage === Stage.Waiting) this.endpoint.wanted?.leave(this.parser.hello!.serverName, this.resume);
    this.stage = Stage.Over;
    this.ctx.wheel.remove(this.timer);
    this.endpoint.handshakes.delete(this);
  }
}

/** Of early data that a waiting handshake holds: more than one record of it. RFC 8446 §4.2.10 */
const MAX_EARLY_BYTES = 16_640;

/** Whether a handshake failed, rather than the check of a certificate. */
function isFailed(error: HandshakeError | null): boolean {
  return /^(ERR_|E[A-Z]+$)/.test(error?.code ?? "");
}

/** A request line begins with one; no TLS record does. */
function isUpperLetter(byte: number): boolean {
  return byte >= 0x41 && byte <= 0x5a;
}
