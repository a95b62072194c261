import type { TestCertificate } from "./certificate.ts";
import { freePort } from "./ports.ts";

/** What a document's server does with one request, in place of answering with the text. */
export type Misdeed = (text: string) => Response | Promise<Response>;

/** A web server that has the two files of a configuration, with ETags. */
export class ConfigOrigin {
  readonly texts: Map<string, string> = new Map();
  /** Each request with the status of its response, such as `GET /config.yaml 304`. */
  readonly seen: string[] = [];
  /** Called before each request is answered. */
  before: (path: string) => void = () => {};
  misdeed: Misdeed | null = null;
  private readonly port: number;
  private readonly tls: TestCertificate | undefined;
  private server: Bun.Server<undefined>;

  private constructor(tls?: TestCertificate) {
    this.port = freePort();
    this.tls = tls;
    this.server = this.listen();
  }

  static start(tls?: TestCertificate): ConfigOrigin {
    return new ConfigOrigin(tls);
  }

  get url(): string {
    return `${this.tls === undefined ? "http" : "https"}://127.0.0.1:${this.port}`;
  }

  /** Puts both files up at once. */
  put(config: string, routes: string | null): void {
    this.texts.set("/config.yaml", config);
    if (routes === null) this.texts.delete("/routes.yaml");
    else this.texts.set("/routes.yaml", routes);
  }

  stop(): void {
    void this.server.stop(true);
  }

  /** Listens again, at the same port. */
  startAgain(): void {
    this.server = this.listen();
  }

  private listen(): Bun.Server<undefined> {
    return Bun.serve({
      hostname: "127.0.0.1",
      port: this.port,
      ...(this.tls === undefined ? {} : { tls: this.tls }),
      // What a misdeed does to its own response.
      error: () => new Response("", { status: 500 }),
      fetch: async (request) => {
        const { pathname } = new URL(request.url);
        this.before(pathname);
        const response = await this.answer(pathname, request.headers.get("if-none-match"));
        this.seen.push(`${request.method} ${pathname} ${response.status}`);
        return response;
      },
    });
  }

  private answer(path: string, known: string | null): Response | Promise<Response> {
    const text = this.texts.get(path);
    if (text === undefined) return new Response("", { status: 404 });
    if (this.misdeed !== null && path === "/config.yaml") return this.misdeed(text);
    const etag = `"${Bun.hash(text).toString(16)}"`;
    if (known === etag) return new Response(null, { status: 304 });
    return new Response(text, { headers: { ETag: etag } });
  }
}
