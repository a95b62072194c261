// What modules do wrong: the last segment of the path says which. Each is on a line of its own, whose number the log names.
interface Context {
  waitUntil(work: unknown): void;
  upstream(request?: unknown): Promise<Response>;
  upgrade(request: unknown, options?: unknown): { readonly socket: WebSocket; readonly response: Response };
  readonly log: { info(...values: unknown[]): void };
}

interface Out {
  enqueue(value: unknown): void;
  close(): void;
}

interface Source {
  start?(out: Out): void;
  pull?(out: Out): unknown;
  cancel?(): void;
}

const text = (value: string | Uint8Array, headers: Record<string, string> | [string, string][] | Headers = {}) => new Response(value as string, { headers });
const stream = (source: Source) => new ReadableStream(source as never, { highWaterMark: 0 });
const piece = new Uint8Array(1000).fill(65);
const shared = new Response("shared");
const thrower = { get message(): string { throw new Error("again"); } };
const nameless = Object.defineProperty(new Error("secret"), "name", { get() { throw new Error("again"); } });
const stackless = Object.assign(new Error("secret"), { stack: 7 });
let reads = 0;
let given = 0;

// biome-ignore format: a line each
const CASES: Record<string, (request: Request, ctx: Context) => unknown> = {
  "throw-error": () => { throw new Error("secret"); },
  "throw-text": () => { throw "secret"; },
  "throw-undefined": () => { throw undefined; },
  "throw-null": () => { throw null; },
  "throw-symbol": () => { throw Symbol("secret"); },
  "throw-bigint": () => { throw 7n; },
  "throw-function": () => { throw () => "secret"; },
  "throw-getter": () => { throw thrower; },
  "throw-nameless": () => { throw nameless; },
  "throw-stackless": () => { throw stackless; },
  "throw-proxy": () => { throw new Proxy({}, { get() { throw 1; }, has() { throw 2; }, getPrototypeOf() { throw 3; } }); },
  "throw-response": () => { throw new Response("secret"); },
  "throw-long": () => { throw new Error("secret\r\nX-Evil: 1\u001b[2J\0".repeat(50_000)); },
  "throw-cause": () => { throw new Error("secret", { cause: new Error("other secret") }); },
  "throw-aggregate": () => { throw new AggregateError([thrower, 1], "secret"); },
  "throw-stack": () => { const deeper = (): number => deeper() + 1; return deeper(); },
  "reject": async () => { throw new Error("secret"); },
  "reject-later": async () => { await Bun.sleep(5); throw new Error("secret"); },
  "reject-undefined": () => Promise.reject(),
  "then-throws": () => ({ get then() { throw new Error("secret"); } }),
  "then-twice": () => ({ then(yes: (value: unknown) => void, no: (value: unknown) => void) { yes(text("first")); no(new Error("secret")); yes(text("second")); } }),
  "nothing": () => undefined,
  "null": () => null,
  "number": () => 7,
  "text": () => "secret",
  "object": () => ({ status: 200, headers: {}, body: "secret" }),
  "request": (request) => request,
  "class": () => Response,
  "proxy": () => new Proxy(text("secret"), {}),
  "proxy-throws": () => new Proxy(text("secret"), { get() { throw new Error("secret"); }, getPrototypeOf() { throw new Error("secret"); } }),
  "prototype": () => Object.create(Response.prototype),
  "own-getter": () => Object.defineProperty(text("secret"), "status", { get() { throw new Error("secret"); } }),
  "own-status": () => Object.defineProperty(text("secret"), "status", { value: "200\nX-Evil: 1" }),
  "own-number": () => Object.defineProperty(text("secret"), "status", { value: 200.5 }),
  "own-nan": () => Object.defineProperty(text("secret"), "status", { value: Number.NaN }),
  "own-body": () => Object.defineProperty(text("secret"), "body", { get() { throw new Error("secret"); } }),
  "own-headers": () => Object.defineProperty(text("secret"), "headers", { value: [["a", "b"]] }),
  "frozen": () => Object.freeze(text("frozen")),
  "derived": () => new (class extends Response {})("derived"),
  "used": async () => { const used = text("secret"); await used.text(); return used; },
  "locked": () => { const locked = text("secret"); locked.body?.getReader(); return locked; },
  "shared": () => shared,
  "error": () => Response.error(),
  "status-101": () => new Response(null, { status: 101 }),
  "status-100": () => new Response(null, { status: 100 }),
  "status-0": () => new Response(null, { status: 0 }),
  "status-600": () => new Response(null, { status: 600 }),
  "status-999": () => new Response(null, { status: 999 }),
  "status-204": () => new Response("secret", { status: 204 }),
  "status-205": () => new Response("secret", { status: 205 }),
  "status-304": () => new Response("secret", { status: 304 }),
  "status-text": () => new Response("ok", { statusText: "OK\r\nX-Evil: 1" }),
  "value-nul": () => text("secret", { "x-a": "a\0b" }),
  "value-cr": () => text("secret", { "x-a": "a\rX-Evil: 1" }),
  "value-lf": () => text("secret", { "x-a": "a\nX-Evil: 1" }),
  "value-obs": () => text("ok", { "x-a": "caf\xe9" }),
  "value-wide": () => text("secret", { "x-a": "\u20ac" }),
  "value-delete": () => text("secret", { "x-a": "\x7f" }),
  "value-long": () => text("secret", { "x-a": "a".repeat(1 << 20) }),
  "value-many": () => text("secret", Array.from({ length: 5000 }, (_, i) => [`x-${i}`, "a".repeat(60)] as [string, string])),
  "name-colon": () => text("secret", { "x:a": "b" }),
  "name-empty": () => text("secret", { "": "b" }),
  "length-short": () => text("12345", { "content-length": "4" }),
  "length-long": () => text("12345", { "content-length": "6" }),
  "length-no": () => text("12345", { "content-length": "abc" }),
  "length-minus": () => text("12345", { "content-length": "-5" }),
  "length-two": () => text("12345", { "content-length": "5, 5" }),
  "length-huge": () => text("12345", { "content-length": "99999999999999999999" }),
  "length-stream": () => new Response(stream({ start(out) { out.enqueue(piece); out.close(); } }), { headers: { "content-length": "999" } }),
  "length-later": () => new Response(stream({ async pull(out) { await Bun.sleep(5); out.enqueue(piece); out.close(); } }), { headers: { "content-length": "1001" } }),
  "encoding": () => text("plain", { "transfer-encoding": "chunked" }),
  "encoding-odd": () => text("plain", { "transfer-encoding": "identity, chunked", "content-length": "5" }),
  "content-encoding": () => text("plain", { "content-encoding": "gzip" }),
  "hops": () => text("hops", { connection: "close, x-other, set-cookie", "x-other": "1", "keep-alive": "timeout=1", upgrade: "h2c", te: "trailers", trailer: "x-a", "proxy-connection": "close", "proxy-authenticate": "Basic" }),
  "cookies": () => { const all = new Headers(); for (let i = 0; i < 3; i++) all.append("set-cookie", `c${i}=1; Path=/`); return text("cookies", all); },
  "gateway-fields": () => text("fields", { "x-request-id": "mine", server: "mine", date: "mine", "alt-svc": "clear", host: "mine", "content-type": "text/x" }),
  "pull-throws": () => new Response(stream({ pull() { throw new Error("secret"); } })),
  "pull-rejects": () => new Response(stream({ async pull() { throw new Error("secret"); } })),
  "pull-later": () => new Response(stream({ async pull(out) { if (reads++ % 2 === 0) return out.enqueue(new Uint8Array(40_000)); await Bun.sleep(5); throw new Error("secret"); } })),
  "pull-number": () => new Response(stream({ pull(out) { out.enqueue(7); } })),
  "pull-object": () => new Response(stream({ pull(out) { out.enqueue({ toString: () => "secret" }); } })),
  "pull-empty": () => { let left = 1000; return new Response(stream({ pull(out) { if (left-- > 0) out.enqueue(new Uint8Array(0)); else out.close(); } })); },
  "pull-detached": () => new Response(stream({ pull(out) { const gone = new Uint8Array(9); gone.buffer.transfer(); out.enqueue(gone); out.close(); } })),
  "pull-never": () => new Response(stream({ pull: () => new Promise(() => {}) })),
  "cancel-throws": () => new Response(stream({ pull(out) { out.enqueue(piece); }, cancel() { throw new Error("secret"); } })),
  "big": () => new Response(stream({ pull(out) { given++; if (given > 100) out.close(); else out.enqueue(new Uint8Array(1 << 20)); } })),
  "big-given": () => text(String(given)),
  "declared": () => text("12345", { "content-length": "5" }),
  "json": () => Response.json({ a: "\u00e9" }, { status: 201, headers: { "x-a": "b" } }),
  "json-large": () => Response.json("a".repeat(100_000)),
  "json-short": () => Response.json("secret", { headers: { "content-length": "3" } }),
  "bytes": () => new Response(new Uint8Array([98, 121, 116, 101, 115]).subarray(1)),
  "looked-at": () => { const looked = text("looked"); void looked.body; return looked; },
  "cloned": () => { const whole = text("cloned"); void whole.clone(); return whole; },
  "derived-body": () => new (class extends Response { constructor(other: string) { super("secret"); Object.defineProperty(Object.getPrototypeOf(this), "body", { get: () => new Response(other).body }); } })("derived"),
  "own-constructor": (request) => new ((text("").constructor as typeof Response))(String(text("") instanceof Response && request instanceof Request)),
  "form": () => { const form = new FormData(); form.set("a", "b"); return new Response(form); },
  "blob": () => new Response(new Blob(["blob"])),
  "upstream-twice": async (_, ctx) => { await (await ctx.upstream()).text(); return ctx.upstream(); },
  "upstream-both": async (_, ctx) => { const [one, other] = await Promise.all([ctx.upstream(), ctx.upstream()]); await one.text(); return other; },
  "upstream-late": (_, ctx) => { ctx.waitUntil(Bun.sleep(20).then(() => ctx.upstream())); return text("early"); },
  "upstream-number": (_, ctx) => ctx.upstream(7),
  "upstream-used": async (_, ctx) => { const used = new Request("http://a/b", { method: "POST", body: "x" }); await used.text(); return ctx.upstream(used); },
  "upstream-bad": (_, ctx) => ctx.upstream(new Request("ftp://a/b")),
  "upstream-dropped": (_, ctx) => { void ctx.upstream(); return text("dropped"); },
  "upstream-closed": async (_, ctx) => { (await ctx.upstream()).body?.cancel(); return text("closed"); },
  "upgrade-plain": (request, ctx) => ctx.upgrade(request).response,
  "upgrade-nothing": (_, ctx) => ctx.upgrade(undefined).response,
  "upgrade-twice": (request, ctx) => { ctx.upgrade(request); return ctx.upgrade(request).response; },
  "upgrade-unused": (request, ctx) => { ctx.upgrade(request); return text("unused"); },
  "socket": (request, ctx) => { const { socket, response } = ctx.upgrade(request); socket.onmessage = ({ data }) => { ctx.log.info(`in the socket: ${data}`); if (data === "exit") process.exit(1); if (data === "throw") throw new Error("secret"); socket.send(data as string); }; return response; },
  "wait-rejects": (_, ctx) => { ctx.waitUntil(Promise.reject(new Error("secret"))); return text("ok"); },
  "wait-throws": (_, ctx) => { ctx.waitUntil({ get then() { throw new Error("secret"); } }); return text("ok"); },
  "wait-nothing": (_, ctx) => { ctx.waitUntil(undefined); return text("ok"); },
  "wait-never": (_, ctx) => { ctx.waitUntil(new Promise(() => {})); return text("ok"); },
  "kill": () => { process.kill(process.pid); return text("secret"); },
  "abort": () => { process.abort(); },
  "really-exit": () => { (process as unknown as { reallyExit(code: number): void }).reallyExit(1); },
  "emit": () => { process.emit("SIGTERM"); return text("ok"); },
  "chdir": () => { process.chdir("/"); return text("secret"); },
  "huge": () => { return text(new Uint8Array(1e10)); },
  "long-text": () => text("a".repeat(2 ** 31)),
  "log-odd": (_, ctx) => { const round: Record<string, unknown> = { big: 7n, long: "l".repeat(1 << 20), odd: "\u001b[2J\r\n\0\ud800" }; round.self = round; ctx.log.info("odd\u001b[2J\r\n\0\ud800", round); ctx.log.info(round); ctx.log.info("x".repeat(1 << 20)); ctx.log.info("bad", { get a() { throw new Error("secret"); } }); ctx.log.info("bad", { toJSON() { throw new Error("secret"); } }); ctx.log.info(Symbol("s"), () => 1, thrower, new Proxy({}, { ownKeys() { throw 1; } })); ctx.log.info(); return text("ok"); },
  "console-odd": () => { console.table([{ a: 1 }]); console.dir({ a: 1 }); console.group("group"); console.count(); console.time("t"); console.timeEnd("t"); console.assert(false, "assert"); console.groupEnd(); (console as unknown as { write(text: string): void }).write("written\n"); return text("ok"); },
  "stdout-end": () => { process.stdout.end("ended\n"); process.stdout.destroy(); process.stderr.end(); return text("ok"); },
  "prompt": () => text(String([prompt("?"), confirm("?"), alert("?")])),
};

export default {
  fetch(request: Request, ctx: Context): unknown {
    const name = new URL(request.url).pathname.split("/").at(-1)!;
    return CASES[name]!(request, ctx);
  },
};
