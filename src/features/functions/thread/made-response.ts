/** As they were before a module was loaded. */
const NativeResponse: typeof Response = globalThis.Response;
const { bytes } = NativeResponse.prototype;
const { json } = NativeResponse;

/** Longer bodies, in characters or bytes, are read as streams are: piece by piece, as their reader takes them. */
const MAX_WHOLE_LENGTH = 16 * 1024;

class Given {
  constructor(value: object) {
    // biome-ignore lint/correctness/noConstructorReturn: the class below gives a field to an object that is there already.
    return value;
  }
}

/** Marks a response whose body was given as text or bytes, by a private field: a module can neither see it nor take it away. */
class WholeMark extends Given {
  readonly #isWhole = true;

  static isOn(value: object): boolean {
    return #isWhole in value;
  }
}

/**
 * Lets the constructor of `Response` give a text its type (Fetch, "extract a body"), which the runtime's own server adds and its Response does not:
 * without one, browsers would look into the text for markup. It notes which responses have a short body of text or bytes, too: a stream and its
 * reader for such a body cost more than all else of a call that says hello.
 */
export function adoptMadeResponses(): void {
  const adopting: typeof Response = new Proxy(NativeResponse, {
    construct(target, args: ConstructorParameters<typeof Response>, newTarget) {
      const response = Reflect.construct(target, args, newTarget === adopting ? target : newTarget) as Response;
      if (typeof args[0] === "string" && !response.headers.has("content-type"))
        response.headers.set("content-type", "text/plain;charset=UTF-8");
      // A class that extends it may give another body.
      if (newTarget === adopting && isShort(args[0])) new WholeMark(response);
      return response;
    },
  });
  Object.defineProperty(NativeResponse.prototype, "constructor", {
    value: adopting,
    configurable: true,
    writable: true,
  });
  NativeResponse.json = (...given) => {
    const response = json(...given);
    new WholeMark(response);
    return response;
  };
  globalThis.Response = adopting;
}

/** All of a response's body, which uses it; null if it has to be read as a stream. */
export function wholeBody(response: Response): Promise<Uint8Array> | null {
  return WholeMark.isOn(response) && !Object.hasOwn(response, "body") ? bytes.call(response) : null;
}

function isShort(body: unknown): boolean {
  if (typeof body === "string") return body.length <= MAX_WHOLE_LENGTH;
  if (ArrayBuffer.isView(body) || body instanceof ArrayBuffer) return body.byteLength <= MAX_WHOLE_LENGTH;
  return body === undefined || body === null;
}
