import { X509Certificate } from "node:crypto";
import { alternativeNames } from "../../../core/alternative-names.ts";
import { messageOf } from "../../../core/error-text.ts";
import type { ServerCertificate } from "../../../message/server-certificate.ts";
import { GrpcCode } from "../../../proto/grpc/grpc-status.ts";
import {
  FETCH_X509_SVID,
  identityIn,
  type X509Svid,
  type X509SvidResponse,
} from "../../../proto/spiffe/workload-messages.ts";
import { type GrpcFailure, type GrpcServer, OutboundGrpc } from "../../../upstream/outbound-grpc.ts";
import { serverCertificate } from "./server-certificate.ts";

/** Pause before an agent that is away is asked again, the first time and at most. */
const WORKLOAD_RETRY_MIN_MS = 1000;
const WORKLOAD_RETRY_MAX_MS = 30_000;
/** An agent that gives no identity says so: one that is silent is asked again. */
const FIRST_MESSAGE_MS = 30_000;
/** Of a message: identities of one process with the bundle of their trust domain. */
const CONNECTION = { connectTimeoutMs: 5000, maxMessageBytes: 4_194_304 };
/** Without the header an agent refuses, so that no request that something else was made to send gets an identity. */
const CALL = { firstMessageMs: FIRST_MESSAGE_MS, headers: { "workload.spiffe.io": "true" } };

/** Who is notified of the identity. */
interface WorkloadListener {
  /** Another certificate, and the authorities of its trust domain (PEM). */
  onIdentity(certificate: ServerCertificate, authorities: string): void;
  /** The agent is away, or gives nothing: what it gave before stays. Told once, until that changes. */
  onFailed(reason: string, retryMs: number): void;
}

/**
 * The identity of the gateway from a SPIFFE agent, in the control thread: one call of `FetchX509SVID` over a UNIX socket, whose
 * stream brings each new certificate before the old one ends. If the stream ends it is asked for again, after a pause that
 * doubles. docs/sidecar.md#workload-api
 */
export class WorkloadApi {
  readonly socketPath: string;
  private readonly listener: WorkloadListener;
  private connection: OutboundGrpc | null = null;
  private timer: Timer | null = null;
  private pauseMs = WORKLOAD_RETRY_MIN_MS;
  private isStopped = false;
  /** The failure of the agent that the log names; "" while it gives identities. */
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
    this.connection?.close();
  }

  private ask(): void {
    this.timer = null;
    void this.listen().then((reason) => {
      if (!this.isStopped) this.failed(reason);
    });
  }

  /** @returns why no more comes */
  private async listen(): Promise<string> {
    try {
      const connection = await OutboundGrpc.open(serverAt(this.socketPath), CONNECTION, null);
      this.connection = connection;
      if (this.isStopped) connection.close();
      for await (const response of connection.call<X509SvidResponse>(FETCH_X509_SVID, {}, CALL)) {
        const refusal = this.take(response);
        if (refusal !== "") return refusal;
      }
      return "the agent has ended the stream";
    } catch (error) {
      const { status, message } = error as GrpcFailure;
      return status === GrpcCode.PermissionDenied ? "the agent knows no identity for this process" : message;
    } finally {
      this.connection?.close();
      this.connection = null;
    }
  }

  /** @returns the fault in what the agent has sent; "" if it counts */
  private take(response: X509SvidResponse): string {
    const svid = identityIn(response);
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

function serverAt(socketPath: string): GrpcServer {
  return { hostname: "", port: 0, socketPath, authority: "localhost", basePath: "", tls: null };
}
