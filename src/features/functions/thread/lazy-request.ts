import type { CallHead } from "./call-head.ts";
import { hasSameFields, responseFields } from "./response-head.ts";

/** What a request is made of. */
export interface RequestSource {
  readonly head: CallHead;
  readonly signal: AbortSignal;
}

/** As it was before a module was loaded. */
const NativeRequest: typeof Request = globalThis.Request;
/** How values are shown by `console` and `Bun.inspect`. */
const INSPECT: unique symbol = Symbol.for("nodejs.util.inspect.custom") as never;

/**
 * The client's request, if no body comes with it. It is made into one of the runtime as soon as it is asked for what is not answered here, or is
 * handed to what takes a `Request`: most modules look at the URL and a field or two, and a `Request` with its `Headers` costs more than all else
 * of a hook together (0.8 µs, and what the collector has to do for it).
 */
class LazyRequest {
  readonly #source: RequestSource;
  #url = "";
  #headers: LazyHeaders | null = null;
  #native: Request | null = null;

  constructor(source: RequestSource) {
    this.#source = source;
  }

  static nativeOf(value: object): unknown {
    return #native in value ? value.#toNative() : value;
  }

  static isUntouched(value: object): boolean {
    return #native in value && (value.#headers === null || value.#headers.isUntouched);
  }

  get method(): string {
    return this.#source.head.method;
  }

  /** As the runtime writes it: without dot segments, the host in lower case. */
  get url(): string {
    if (this.#url === "") this.#url = new NativeRequest(this.#source.head.origin + this.#source.head.path).url;
    return this.#url;
  }

  get headers(): LazyHeaders {
    this.#headers ??= new LazyHeaders(this.#source.head);
    return this.#headers;
  }

  get signal(): AbortSignal {
    return this.#source.signal;
  }

  [INSPECT](): unknown {
    return this.#toNative();
  }

  #toNative(): Request {
    if (this.#native === null) {
      const { url, method, headers } = this;
      this.#native = new NativeRequest(url, { method, headers: headers.toNative() });
      headers.use(this.#native.headers);
    }
    return this.#native;
  }

  static {
    inherit(LazyRequest.prototype, NativeRequest.prototype);
  }
}

/** The fields of such a request: names are searched for in its record, until one is changed, or all are asked for. */
class LazyHeaders {
  readonly #head: CallHead;
  #native: Headers | null = null;
  /** As they were before they could be changed. */
  #before: [string, string][] = [];

  constructor(head: CallHead) {
    this.#head = head;
  }

  static nativeOf(value: object): unknown {
    return #native in value ? value.toNative() : value;
  }

  get isUntouched(): boolean {
    return this.#native === null || hasSameFields(this.#before, responseFields(this.#native));
  }

  get(...names: readonly [string]): string | null {
    const [name] = names;
    const found = this.#native === null && typeof name === "string" ? this.#head.get(name) : undefined;
    return found === undefined ? this.toNative().get(...names) : found;
  }

  has(...names: readonly [string]): boolean {
    const [name] = names;
    const found = this.#native === null && typeof name === "string" ? this.#head.has(name) : undefined;
    return found === undefined ? this.toNative().has(...names) : found;
  }

  [INSPECT](): unknown {
    return this.toNative();
  }

  toNative(): Headers {
    if (this.#native === null) {
      this.#native = new Headers(this.#head.fields);
      this.#before = responseFields(this.#native);
    }
    return this.#native;
  }

  /** From here on these are the ones; they say what its own have said. */
  use(native: Headers): void {
    this.#native = native;
  }

  static {
    inherit(LazyHeaders.prototype, Headers.prototype);
  }
}

/** A request without a body. @param source its head has no `fault` */
export function lazyRequest(source: RequestSource): Request {
  return new LazyRequest(source) as unknown as Request;
}

/** The runtime's own object in the place of a lazy one; whatever else it is, the value itself. */
export function nativeOf<T>(value: T): T {
  if (typeof value !== "object" || value === null) return value;
  return LazyHeaders.nativeOf(LazyRequest.nativeOf(value) as object) as T;
}

/** Whether a request is certain to be as it came: it is a lazy one whose fields have not been changed. */
export function isUntouched(request: Request): boolean {
  return LazyRequest.isUntouched(request);
}

/** Lets the constructor of `Request` take lazy ones. */
export function adoptLazyRequests(): void {
  const adopting: typeof Request = new Proxy(NativeRequest, {
    construct: (target, args: readonly unknown[], newTarget) =>
      Reflect.construct(target, args.map(nativeOf), newTarget === adopting ? target : newTarget),
  });
  Object.assign(NativeRequest.prototype, { constructor: adopting });
  globalThis.Request = adopting;
}

type AnyFunction = (...values: readonly unknown[]) => unknown;

/**
 * Gives a class all that the runtime's has: its objects are instances of that, too, and what it does not define itself asks the object that they
 * are made into. Properties of the runtime's prototypes cannot be replaced, so a function that a module takes from these and calls on a lazy object fails.
 */
function inherit(prototype: object, native: object): void {
  for (const key of Reflect.ownKeys(native)) {
    const { value, get, enumerable } = Object.getOwnPropertyDescriptor(native, key)!;
    const own = Object.getOwnPropertyDescriptor(prototype, key);
    if (key === "constructor") Reflect.deleteProperty(prototype, key);
    else if (own !== undefined) Object.defineProperty(prototype, key, { ...own, enumerable });
    else if (get !== undefined) Object.defineProperty(prototype, key, { get: forward(get), enumerable });
    else if (typeof value === "function")
      Object.defineProperty(prototype, key, { value: forward(value), enumerable, writable: true });
  }
  Object.setPrototypeOf(prototype, native);
}

function forward(native: AnyFunction): AnyFunction {
  return function (this: unknown, ...values: readonly unknown[]): unknown {
    return native.apply(nativeOf(this), values as unknown[]);
  };
}
