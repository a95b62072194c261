import { X509Certificate } from "node:crypto";
import { type ClientHttp2Session, connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from "node:http2";
import { connect as connectSocket } from "node:net";
import { alternativeNames } from "../core/alternative-names.ts";
import { messageOf } from "../core/error-text.ts";
import type { ServerCertificate } from "../message/server-certificate.ts";
import { FrameFault, frameMessage, MessageReader } from "../proto/grpc/message-frames.ts";
import { readX509Response, type X509Svid } from "../proto/spiffe/workload-messages.ts";
import { serverCertificate } from "./certificates.ts";

/** Bytes of a message of a SPIFFE agent: identities of one process with the bundle of their trust domain. */
const MAX_WORKLOAD_MESSAGE_BYTES = 4_194_304;
/** Pause before an agent that is away is asked again, the first time and at most. */
const WORKLOAD_RETRY_MIN_MS = 1000;
const WORKLOAD_RETRY_MAX_MS = 30_000;

/** Who is notified of the identity. */
export interface WorkloadListener {
  /** Another certificate, and the authorities of its trust domain (PEM). */
  onIdentity(certificate: ServerCertificate, authorities: string): void;
  /** The agent is away, or gives nothing: what it gave before stays. Told once, until that changes. */
  onFailed(reason: string, retryMs: number): void;
}

/**
 * The identity of the gateway from a SPIFFE agent, in the control thread: one call of `FetchX509SVID` over a UNIX socket, whose
 * stream brings each new certificate before the old one ends. Where the stream ends it is asked for again, after a pause that
 * doubles. docs/sidecar.md#workload-api
 */
export class WorkloadApi {
  readonly socketPath: string;
  private readonly listener: WorkloadListener;
  private session: ClientHttp2Session | null = null;
  private timer: Timer | null = null;
  private pauseMs = WORKLOAD_RETRY_MIN_MS;
  private isStopped = false;
  /** What has been told of the agent; "" while it gives identities. */
  private failure = "";
  /** What the agent gave last, so that the same does not count as new. */
  private last = "";

  /** @param socketPath absolute */
  constructor(socketPath: string, listener: WorkloadListener) {
    this.socketPath = socketPath;
    this.listener = listener;
    this.ask();
  }

  /** Asks no more. */
  stop(): void {
    this.isStopped = true;
    if (this.timer !== null) clearTimeout(this.timer);
    this.session?.destroy();
    this.session = null;
  }

  private ask(): void {
    this.timer = null;
    const socket = connectSocket(this.socketPath);
    const session = connect("http://localhost", { createConnection: () => socket });
    this.session = session;
    const stream = session.request(REQUEST);
    const messages = new MessageReader(MAX_WORKLOAD_MESSAGE_BYTES);
    let reason = "";
    const end = (why: string): void => {
      if (reason !== "") return;
      reason = why;
      session.destroy();
      if (!this.isStopped) this.failed(why);
    };
    const status = (fields: IncomingHttpHeaders & IncomingHttpStatusHeader): void => {
      const refusal = refusalIn(fields);
      if (refusal !== "") end(refusal);
    };
    stream.on("response", status);
    stream.on("trailers", status);
    stream.on("data", (bytes: Buffer) => {
      const fault = messages.push(bytes, (message) => {
        const refusal = this.take(message);
        if (refusal !== "") end(refusal);
        return refusal === "";
      });
      if (fault !== FrameFault.None) end("a message that is too long, or compressed");
    });
    // Of a socket that is not there, only the socket tells why.
    for (const each of [socket, stream, session] as const) {
      each.on("error", (error: Error & { code?: string }) => end(error.code ?? messageOf(error)));
      each.on("close", () => end("the agent has ended the stream"));
    }
    stream.end(frameMessage(NO_BYTES));
  }

  /** @returns what is wrong with what the agent has sent; "" where it counts */
  private take(message: Uint8Array): string {
    const svid = readX509Response(message);
    if (typeof svid === "string") return svid;
    const now = JSON.stringify(svid);
    if (now === this.last || this.isStopped) return "";
    let certificate: ServerCertificate;
    try {
      certificate = certificateOf(svid);
    } catch (error) {
      return messageOf(error);
    }
    this.last = now;
    this.failure = "";
    this.pauseMs = WORKLOAD_RETRY_MIN_MS;
    this.listener.onIdentity(certificate, svid.bundle);
    return "";
  }

  private failed(reason: string): void {
    // Not all sidecars of a node come at the same time.
    const pauseMs = this.pauseMs * (0.5 + Math.random() / 2);
    this.pauseMs = Math.min(this.pauseMs * 2, WORKLOAD_RETRY_MAX_MS);
    this.timer = setTimeout(() => this.ask(), pauseMs);
    if (reason === this.failure) return;
    this.failure = reason;
    this.listener.onFailed(reason, pauseMs);
  }
}

/** @throws Error where key, certificates and id do not belong together */
function certificateOf({ id, chain, key, bundle }: X509Svid): ServerCertificate {
  const uris = alternativeNames(new X509Certificate(chain).subjectAltName ?? "", "URI");
  if (uris.length !== 1 || uris[0] !== id) throw new Error("the certificate has another id than the agent says");
  void new X509Certificate(bundle);
  return serverCertificate(id, chain, key);
}

/** Why an agent gives nothing, as its header or trailer says it; "" where it does not. */
function refusalIn(fields: IncomingHttpHeaders & IncomingHttpStatusHeader): string {
  const { ":status": status = 200, "grpc-status": code = "0", "grpc-message": message = "" } = fields;
  if (status !== 200) return `the socket responds with HTTP status ${status}`;
  if (code === "0") return "";
  if (code === PERMISSION_DENIED) return "the agent knows no identity for this process";
  return `the agent responds with gRPC status ${String(code)} ${String(message)}`.trimEnd();
}

const PERMISSION_DENIED = "7";

const REQUEST = {
  ":method": "POST",
  ":path": "/SpiffeWorkloadAPI/FetchX509SVID",
  "content-type": "application/grpc",
  te: "trailers",
  // Without it an agent refuses, so that no request that something else was made to send gets an identity.
  "workload.spiffe.io": "true",
} as const;
const NO_BYTES: Uint8Array = new Uint8Array(0);
