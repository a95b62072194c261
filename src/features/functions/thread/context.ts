/** Who a request comes from, if the route has `auth`. */
export interface Auth {
  readonly user: string;
  readonly claims: Readonly<Record<string, string>>;
}

/** What a request says beside itself. */
export interface CallFacts {
  /** The route's label: its prefix, path or expression. */
  readonly route: string;
  readonly clientIp: string;
  readonly requestId: string;
  readonly auth: Auth | null;
  readonly rawTarget: string;
}

/** What a context asks of its call. */
export interface ContextPorts {
  readonly facts: CallFacts;
  log(level: "debug" | "info" | "warn" | "error", values: readonly unknown[]): void;
  waitUntil(promise: unknown): void;
  upstream(request?: Request): Promise<Response>;
  upgrade(request: Request, options?: UpgradeOptions): { readonly socket: WebSocket; readonly response: Response };
}

export interface UpgradeOptions {
  /** The subprotocol that is chosen, one of all that the client offers. */
  readonly protocol?: string;
}

/** `ctx` of functions and hooks. docs/functions.md#modules */
export class Context {
  readonly #ports: ContextPorts;
  #log: ContextLog | null = null;

  constructor(ports: ContextPorts) {
    this.#ports = ports;
  }

  /** What `functions.env` holds. */
  get env(): Readonly<Record<string, string | undefined>> {
    return process.env;
  }

  get route(): string {
    return this.#ports.facts.route;
  }

  get clientIp(): string {
    return this.#ports.facts.clientIp;
  }

  get requestId(): string {
    return this.#ports.facts.requestId;
  }

  get auth(): Auth | null {
    return this.#ports.facts.auth;
  }

  get rawTarget(): string {
    return this.#ports.facts.rawTarget;
  }

  get log(): ContextLog {
    this.#log ??= logOf(this.#ports);
    return this.#log;
  }

  // Functions of their own, made where they are used, so that a module may take them out of the context.
  get waitUntil(): ContextPorts["waitUntil"] {
    return (promise) => this.#ports.waitUntil(promise);
  }

  get upstream(): ContextPorts["upstream"] {
    return (request) => this.#ports.upstream(request);
  }

  get upgrade(): ContextPorts["upgrade"] {
    return (request, options) => this.#ports.upgrade(request, options);
  }

  /** Modules for Cloudflare Workers may call it; here a failure is a failure. */
  passThroughOnException(): void {}
}

/** Writes lines of the log, with the request's id. */
interface ContextLog {
  debug(...values: readonly unknown[]): void;
  info(...values: readonly unknown[]): void;
  warn(...values: readonly unknown[]): void;
  error(...values: readonly unknown[]): void;
}

function logOf(ports: ContextPorts): ContextLog {
  return {
    debug: (...values) => ports.log("debug", values),
    info: (...values) => ports.log("info", values),
    warn: (...values) => ports.log("warn", values),
    error: (...values) => ports.log("error", values),
  };
}

/** What a line of the log says: a text, and fields where an object of such comes after it. */
export function lineOf(values: readonly unknown[]): {
  readonly message: string;
  readonly fields?: Readonly<Record<string, unknown>>;
} {
  const [message, fields, ...others] = values;
  const isPair = typeof message === "string" && others.length === 0 && isPlain(fields);
  if (!isPair) return { message: logText(values) };
  return { message: message.slice(0, MAX_LOG_CHARS), fields: JSON.parse(jsonOf(fields)) };
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function jsonOf(fields: object): string {
  try {
    const text = JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? String(value) : value));
    return text.length <= MAX_LOG_CHARS ? text : JSON.stringify(text.slice(0, MAX_LOG_CHARS));
  } catch {
    return JSON.stringify(logText([fields]));
  }
}

/** Values as one text, as `console.log` shows them, bounded. */
function logText(values: readonly unknown[]): string {
  const shown = values.map((value) => (typeof value === "string" ? value : Bun.inspect(value, { depth: 4 })));
  return shown.join(" ").slice(0, MAX_LOG_CHARS);
}

const MAX_LOG_CHARS = 8192;
