import {
  createSecureServer,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import type { AddressInfo } from "node:net";
import type { TLSSocket } from "node:tls";
import type { TestCertificate } from "./certificate.ts";
import { sha256 } from "./echo-origin.ts";

/** What the origin answers, as JSON. */
export interface H2Echo {
  readonly method: string;
  readonly target: string;
  readonly headers: Record<string, string>;
  readonly length: number;
  readonly sha256: string;
  /** Common name of the certificate that the peer has shown; "" for none. */
  readonly peer: string;
}

/** How an origin of HTTP/2 is secured. */
export interface H2OriginTls extends TestCertificate {
  /** Authority that client certificates must be of; without it none is asked for. */
  readonly clientCa?: string;
}

/** An origin that speaks HTTP/2 and nothing else, and echoes requests as JSON; in cleartext, or over TLS. */
export class H2EchoOrigin {
  /** Requests whose head has come. */
  requests = 0;
  /** Connections that were made. */
  connections = 0;
  readonly sessions: Set<ServerHttp2Session> = new Set();

  private constructor(
    private readonly server: Http2Server,
    private readonly scheme: "h2" | "h2c",
  ) {
    server.on("session", (session) => {
      this.connections++;
      this.sessions.add(session);
      session.on("close", () => this.sessions.delete(session));
      session.on("error", () => {});
    });
    server.on("stream", (stream, headers) => this.echo(stream as ServerHttp2Stream, headers));
  }

  static async start(tls: H2OriginTls | null = null): Promise<H2EchoOrigin> {
    const server = tls === null ? createServer() : secureServer(tls);
    const origin = new H2EchoOrigin(server, tls === null ? "h2c" : "h2");
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return origin;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `${this.scheme}://localhost:${this.port}`;
  }

  stop(): void {
    for (const session of this.sessions) session.destroy();
    this.server.close();
  }

  private echo(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    this.requests++;
    const parts: Buffer[] = [];
    stream.on("error", () => {});
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.on("end", () => {
      const body = Buffer.concat(parts);
      const socket = stream.session?.socket as TLSSocket | undefined;
      const echo: H2Echo = {
        method: String(headers[":method"]),
        target: String(headers[":path"]),
        headers: headers as Record<string, string>,
        length: body.length,
        sha256: sha256(body),
        peer: String(socket?.getPeerCertificate?.()?.subject?.CN ?? ""),
      };
      if (stream.destroyed) return;
      stream.respond({ ":status": 200, "content-type": "application/json" });
      stream.end(JSON.stringify(echo));
    });
  }
}

function secureServer({ cert, key, clientCa }: H2OriginTls): Http2Server {
  const isAsked = clientCa !== undefined;
  const server = createSecureServer({ cert, key, ca: clientCa, requestCert: isAsked, rejectUnauthorized: isAsked });
  server.on("tlsClientError", () => {});
  return server as unknown as Http2Server;
}
