import { expect } from "bun:test";
import { EDGE_BINARY, type Gateway, startGateway, upstream } from "./gateway.ts";
import { type Reply, request } from "./raw-client.ts";
import { type OriginScript, ScriptedOrigin } from "./scripted-origin.ts";
import { stopAll } from "./teardown.ts";

type Settings = Record<string, unknown>;

/** A gateway with the cache on, before an origin whose answers count themselves. */
export class CachedGateway {
  private constructor(
    readonly gateway: Gateway,
    readonly origin: ScriptedOrigin,
  ) {}

  /**
   * @param cache settings of `server.cache` beside `enabled`
   * @param server further settings of `server`
   * @param routes further routes
   * @param binary another one than that which ships
   */
  static async start(
    cache: Settings = {},
    server: Settings = {},
    routes: readonly Settings[] = [],
    binary = EDGE_BINARY,
  ): Promise<CachedGateway> {
    const origin = ScriptedOrigin.start();
    const gateway = await startGateway({
      config: { server: { cache: { enabled: true, ...cache }, ...server } },
      binary,
      routes: [upstream("/", origin), ...routes.map((route) => ({ target: origin.url, ...route }))],
    });
    return new CachedGateway(gateway, origin);
  }

  /** Lets a path answer 200 with these fields and a body that counts the requests. */
  answers(path: string, ...lines: readonly string[]): this {
    return this.answersStatus(path, "200 OK", ...lines);
  }

  /** The same with another status. */
  answersStatus(path: string, status: string, ...lines: readonly string[]): this {
    let count = 0;
    this.origin.on(path, (call) => {
      count++;
      if (call.request.method === "HEAD") {
        call.send(`HTTP/1.1 ${[status, ...lines, "Content-Length: 7", "", ""].join("\r\n")}`);
      } else call.reply(status, lines, `answer ${count}`);
    });
    return this;
  }

  /** Lets a script answer a path. */
  on(path: string, script: OriginScript): this {
    this.origin.on(path, script);
    return this;
  }

  /** Requests for a path that the origin has seen. */
  seen(path: string): number {
    return this.origin.requestsFor(path).length;
  }

  get(path: string, lines: readonly string[] = []): Promise<Reply> {
    return this.gateway.once(request(`GET ${path}`, lines));
  }

  send(start: string, lines: readonly string[] = [], body?: string): Promise<Reply> {
    return this.gateway.once(request(start, lines, body));
  }

  /** Asks twice: whether the second answer came from the cache. */
  async isStored(path: string, lines: readonly string[] = []): Promise<boolean> {
    const first = await this.get(path, lines);
    expect(first.fields.get("x-cache")).toBe("MISS");
    const second = await this.get(path, lines);
    const isHit = second.fields.get("x-cache") === "HIT";
    expect(second.text === first.text).toBe(isHit);
    return isHit;
  }

  stop(): Promise<void> {
    return stopAll(this.gateway, this.origin);
  }
}
