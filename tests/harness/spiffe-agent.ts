import { X509Certificate } from "node:crypto";
import { rmSync } from "node:fs";
import { createServer, type Http2Server, type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import { BinaryWriter } from "@bufbuild/protobuf/wire";
import type { TestCertificate } from "./certificate.ts";

/** An identity as an agent gives it. */
export interface GivenIdentity {
  readonly id: string;
  readonly own: TestCertificate;
  /** PEM of the authorities of its trust domain, one after the other. */
  readonly bundle: string;
}

/** A SPIFFE agent as far as `FetchX509SVID` can tell: gRPC in clear text over a UNIX socket. */
export class SpiffeAgent {
  /** Calls so far. */
  calls = 0;
  /** Calls without the header by which agents know that the caller means them. */
  unmarked = 0;
  private identity: GivenIdentity | null = null;
  private streams: ServerHttp2Stream[] = [];
  private sessions: ServerHttp2Session[] = [];
  private server: Http2Server | null = null;

  private constructor(readonly socketPath: string) {}

  static async start(socketPath: string): Promise<SpiffeAgent> {
    const agent = new SpiffeAgent(socketPath);
    await agent.resume();
    return agent;
  }

  /** Listens again after `stop`. */
  async resume(): Promise<void> {
    const server = createServer();
    server.on("session", (session) => {
      this.sessions.push(session);
      session.on("error", () => {});
    });
    server.on("stream", (stream, headers) => this.answer(stream as ServerHttp2Stream, headers));
    this.server = server;
    await new Promise<void>((resolve) => server.listen(this.socketPath, resolve));
  }

  /** Gives an identity to all callers, those that wait and those to come; null refuses them. */
  give(identity: GivenIdentity | null): void {
    this.identity = identity;
    for (const stream of this.streams) if (!stream.destroyed) this.send(stream);
  }

  /** Sends bytes as a message to those who wait. */
  sendMessage(message: Uint8Array): void {
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    for (const stream of this.streams) if (!stream.destroyed) stream.write(frame);
  }

  /** Resets every stream: those who wait hear no more on it. */
  reset(): void {
    for (const stream of this.streams) stream.close(8);
    this.streams = [];
  }

  /** Says that a message of 100 MB comes, and begins with it. */
  sendHuge(): void {
    for (const stream of this.streams) if (!stream.destroyed) stream.write(Buffer.from([0, 5, 0xf5, 0xe1, 0, 0, 0, 0]));
  }

  /** Goes away: its socket, and every connection. */
  stop(): void {
    for (const session of this.sessions) session.destroy();
    this.server?.close();
    rmSync(this.socketPath, { force: true });
    this.sessions = [];
    this.streams = [];
  }

  private answer(stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>): void {
    this.calls++;
    stream.on("error", () => {});
    const isMarked = headers["workload.spiffe.io"] === "true";
    if (!isMarked) this.unmarked++;
    if (!isMarked || this.identity === null || headers[":path"] !== "/SpiffeWorkloadAPI/FetchX509SVID") {
      stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "7" }, { endStream: true });
      return;
    }
    stream.respond({ ":status": 200, "content-type": "application/grpc" });
    this.streams.push(stream);
    this.send(stream);
  }

  private send(stream: ServerHttp2Stream): void {
    if (this.identity === null) return;
    const message = x509Response(this.identity);
    const frame = Buffer.alloc(5 + message.length);
    frame.writeUInt32BE(message.length, 1);
    frame.set(message, 5);
    // In two pieces, as a stream may bring it.
    stream.write(frame.subarray(0, 700));
    stream.write(frame.subarray(700));
  }
}

/** An `X509SVIDResponse` with one identity, and fields that a client does not know. */
export function x509Response({ id, own, bundle }: GivenIdentity): Uint8Array {
  const key = Buffer.from(own.key.replace(/-----[^-]+-----|\s/g, ""), "base64");
  const svid = new BinaryWriter().tag(1, 2).string(id).tag(2, 2).bytes(der(own.cert)).tag(3, 2).bytes(key);
  svid.tag(4, 2).bytes(der(bundle)).tag(5, 2).string("hint");
  const other = new BinaryWriter().tag(1, 2).string("spiffe://other").finish();
  return new BinaryWriter()
    .tag(2, 2)
    .bytes(new Uint8Array(3))
    .tag(1, 2)
    .bytes(svid.finish())
    .tag(3, 2)
    .bytes(other)
    .finish();
}

/** The certificates of a PEM text in DER, one after the other. */
function der(pem: string): Uint8Array {
  const all = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return Buffer.concat(all.map((one) => new X509Certificate(one).raw));
}
