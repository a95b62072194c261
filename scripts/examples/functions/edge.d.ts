// Written by edge types 1.0.0-rc.1 cb0bfbed20ec9947
/**
 * The modules "edge" and "edge:test": what functions and hooks of the gateway are given, and what their tests use.
 * Request, Response and Headers are those of the library that tsconfig.json names: "lib": ["ESNext", "DOM"], or @types/bun, which also
 * has Bun.redis, Bun.sql, Bun.s3 and HTMLRewriter.
 */
declare module "edge" {
  /** `functions.env` of config.yaml: texts by their names, and nothing of the process beside them. */
  export type Env = Readonly<Record<string, string | undefined>>;

  /** Who the client is, where the route has `auth`. */
  export interface Auth {
    /** As `{auth.user}`. */
    readonly user: string;
    /** Of a token or of a sign-in; empty for other methods. */
    readonly claims: Readonly<Record<string, string>>;
  }

  /** Writes a line of the gateway's log, with the request id and the route. An object after a text is its `fields`; other values are shown as by console.log. */
  export interface Log {
    debug(...values: readonly unknown[]): void;
    info(...values: readonly unknown[]): void;
    warn(...values: readonly unknown[]): void;
    error(...values: readonly unknown[]): void;
  }

  /** What every module gets beside its request or event. The variables of `functions.env` can be read from it by their names as well. */
  export interface BaseContext {
    readonly env: Env;
    readonly log: Log;
    /** Work that goes on after the response: it may take as long as the time-out of the function, counted from the response. */
    waitUntil(work: Promise<unknown>): void;
    /** Does nothing: what throws is answered 500. Modules for Cloudflare Workers call it. */
    passThroughOnException(): void;
  }

  export interface Context extends BaseContext {
    /** The route's `prefix` or `path`. */
    readonly route: string;
    /** The client's address, behind the trusted proxies. */
    readonly clientIp: string;
    /** As in the access log, and in `X-Request-Id`. */
    readonly requestId: string;
    readonly auth: Auth | null;
    /** The target as the client has sent it, for records. Decide by `request.url`: its path is the one by which the route was chosen. */
    readonly rawTarget: string;
    /**
     * Goes on to the `target` of the route, with its time-outs, retries and breaker.
     * @param request the client's own without it
     */
    upstream(request?: Request): Promise<Response>;
    /** Accepts a WebSocket: return `response`, and use `socket` from its "open" event on. */
    upgrade(request: Request, options?: { readonly protocol?: string }): { readonly socket: WebSocket; readonly response: Response };
  }

  /** The default export of a module of `type: function`. */
  export interface FunctionModule {
    fetch(request: Request, ctx: Context): Response | Promise<Response>;
  }

  type Hooked<T> = T | void | Promise<T | void>;

  /** The default export of a module of `hooks`; one of the two is enough. */
  export interface HooksModule {
    /** A request in place of the client's, a response that is given at once, or nothing to go on. */
    onRequest?(request: Request, ctx: Context): Hooked<Request | Response>;
    /** A response in place of this one, or nothing to leave it. */
    onResponse?(response: Response, ctx: Context): Hooked<Response>;
  }

  export interface ScheduledEvent {
    readonly type: "scheduled";
    /** The line of `functions.cron` that is due. */
    readonly cron: string;
    /** When it was due, in milliseconds since the epoch. */
    readonly scheduledTime: number;
  }

  /** The default export of a module of `functions.cron`. */
  export interface ScheduledModule {
    scheduled(event: ScheduledEvent, ctx: BaseContext): void | Promise<void>;
  }
}

/** What tests beside modules use: `edge test` runs them. */
declare module "edge:test" {
  export interface Gateway {
    /** Such as http://127.0.0.1:41234, without a slash. */
    readonly url: string;
    /**
     * Asks the gateway, by way of its port on 127.0.0.1. Redirects are not followed unless `init` says so.
     * @param target a path, or a URL, whose host becomes the header Host
     */
    fetch(target: string | URL, init?: RequestInit): Promise<Response>;
    /** Lines of its log so far: one JSON object each. */
    readonly log: readonly Readonly<Record<string, unknown>>[];
    /** Waits for a line of the log that fits. */
    logged(fits: (line: Readonly<Record<string, unknown>>) => boolean): Promise<Readonly<Record<string, unknown>>>;
    stop(): Promise<void>;
  }

  export interface GatewayOptions {
    /** Variables of its environment, to which ${NAME} in the two files refers, beside those of the test. */
    readonly env?: Readonly<Record<string, string>>;
    /** config.yaml and routes.yaml without them, as `edge test` was started. */
    readonly config?: string;
    readonly routes?: string;
  }

  /** A gateway of the test's own, with the configuration of the project. It ends with the tests at the latest. */
  export function startEdge(options?: GatewayOptions): Promise<Gateway>;

  /** A gateway that all tests share, started when it is first asked. */
  export const edge: Pick<Gateway, "fetch" | "log" | "logged">;
}
