// docs/functions.md#modules: the request of a module is that of the web, also where it has not been made yet
import { describe, expect, test } from "bun:test";
import { CallHead } from "../../../../src/features/functions/thread/call-head.ts";
import { isUntouched, lazyRequest, nativeOf } from "../../../../src/features/functions/thread/lazy-request.ts";
import { Records } from "../../../../src/features/functions/wire.ts";

const FIELDS: [string, string][] = [
  ["host", "Shop.test"],
  ["accept", "text/html"],
  ["x-twice", "1"],
  ["cookie", "a=1"],
  ["x-twice", "2"],
  ["x-empty", ""],
  ["x-colon", "a:b: c"],
  ["cookie", "b=2"],
  ["x-latin", "caf\u00e9"],
];
const TARGETS = ["/", "/a/../b/%2e%2e/c?q=%zz", "/x\\y\"<>{}|^`'?'#f", "//a//b", "/a?b=/../c", "/\u00fc"];
const signal = new AbortController().signal;

function headOf(path: string, { method = "GET", origin = "http://Shop.test:80" } = {}): CallHead {
  const lines = ["q0", method, origin, path, "=192.0.2.1", "=id-1", "=/shop", '={"user":"ann","claims":{}}', "="];
  const fields = FIELDS.map(([name, value]) => `${name}:${value}`);
  const records = new Records(`${[...lines, ...fields, "", ""].join("\n")}N2\n`);
  const head = new CallHead(records);
  // The record is read to its end, and no further.
  expect([records.next(), records.word, records.id]).toEqual([true, "N" as never, 2]);
  return head;
}

const lazy = (path = "/a?b"): Request => lazyRequest({ head: headOf(path), signal });
const native = (path = "/a?b"): Request => new Request(`http://Shop.test:80${path}`, { headers: FIELDS });
/** What a function gives, or throws. */
const outcome = (run: () => unknown): unknown => {
  const told = (error: unknown) => `throws ${(error as Error).message}`;
  try {
    const got = run();
    return got instanceof Promise ? got.catch(told) : got;
  } catch (error) {
    return told(error);
  }
};

describe("a request without a body", () => {
  test("has what the runtime's has, property by property", async () => {
    const own = lazy();
    const names = Object.keys(Object.getOwnPropertyDescriptors(Request.prototype)) as (keyof Request)[];
    for (const name of names.filter((one) => !["headers", "signal", "constructor", "clone", "blob"].includes(one))) {
      const [given, wanted] = [own, native()].map((one) => (typeof one[name] === "function" ? name : one[name]));
      expect([name, given]).toEqual([name, wanted]);
      if (typeof own[name] !== "function") continue;
      const call = async (one: Request): Promise<unknown> => {
        const got = await outcome(() => (one[name] as () => unknown)());
        return got instanceof ReadableStream ? "a stream" : got;
      };
      expect([name, await call(own)]).toEqual([name, await call(native())]);
    }
    expect([own.signal === signal, own.clone().url, (await own.blob()).size]).toEqual([true, native().url, 0]);
    expect(Object.keys(own)).toEqual(Object.keys(native()));
    const listed: string[] = [];
    for (const name in own) listed.push(name);
    expect(listed.sort()).toEqual([...names].filter((name) => (name as string) !== "constructor").sort() as string[]);
  });

  test.each(TARGETS)("has the URL %s as the runtime writes it", (path) => {
    expect(lazy(path).url).toBe(native(path).url);
  });

  test("is a Request, and its headers are Headers", () => {
    const own = lazy();
    const { headers } = own;
    expect([own instanceof Request, headers instanceof Headers, own.headers === headers]).toEqual([true, true, true]);
    expect([String(own), own.constructor, String(own.headers)]).toEqual([
      "[object Request]",
      Request,
      "[object Headers]",
    ]);
    expect(Bun.inspect(own)).toBe(Bun.inspect(native()));
    expect(Bun.inspect(own.headers)).toBe(Bun.inspect(native().headers));
  });

  test("is taken where a request is taken", () => {
    const copies = [new Request(lazy()), new Request("http://other.test/", lazy()), new Request(nativeOf(lazy()))];
    const wanted = [new Request(native()), new Request("http://other.test/", native()), native()];
    expect(copies.map((one) => [one.url, one.method, [...one.headers]])).toEqual(
      wanted.map((one) => [one.url, one.method, [...one.headers]]),
    );
    expect([...new Headers(lazy().headers)]).toEqual([...native().headers]);
    expect([...new Response(null, lazy() as ResponseInit).headers]).toEqual([...native().headers]);
    expect([nativeOf(1), nativeOf(null), nativeOf("x")]).toEqual([1, null, "x"]);
  });
});

describe("its headers", () => {
  const asks: readonly ((headers: Headers) => unknown)[] = [
    ...[
      "host",
      "HOST",
      "Accept",
      "x-twice",
      "cookie",
      "x-empty",
      "x-colon",
      "x-latin",
      "not-there",
      "b",
      "path",
    ].flatMap((name) => [(h: Headers) => h.get(name), (h: Headers) => h.has(name)]),
    ...["", "a b", "a\n", "\n=", "host:", "x-twice:1\ncookie", "é"].flatMap((name) => [
      (h: Headers) => h.get(name),
      (h: Headers) => h.has(name),
    ]),
    (h) => (h.get as () => unknown)(),
    (h) => h.get(1 as never),
    (h) => [...h],
    (h) => [...h.keys(), ...h.values(), ...h.entries()],
    (h) => h.toJSON(),
    (h) => h.getSetCookie(),
    (h) => Object.fromEntries(h as never),
    (h) => {
      const seen: unknown[] = [];
      h.forEach((value, name) => {
        seen.push([name, value]);
      });
      return seen;
    },
  ];

  test("answer as the runtime's do, before and after all of them were read", () => {
    for (const ask of asks) {
      const wanted = outcome(() => ask(native().headers));
      const own = lazy().headers;
      expect([String(ask), outcome(() => ask(own))]).toEqual([String(ask), wanted]);
      own.getSetCookie();
      expect([String(ask), outcome(() => ask(own))]).toEqual([String(ask), wanted]);
    }
  });

  test("are changed in place, and the request with them, whichever is made first", () => {
    const [first, second] = [lazy(), lazy()];
    first.headers.set("x-new", "1");
    first.headers.delete("accept");
    const { headers } = second;
    expect(new Request(second).headers.get("accept")).toBe("text/html");
    headers.set("x-new", "1");
    headers.delete("accept");
    for (const one of [first, second]) {
      expect([one.headers.get("x-new"), one.headers.has("accept")]).toEqual(["1", false]);
      expect([...new Request(one).headers]).toEqual([...one.headers]);
      expect(isUntouched(one)).toBe(false);
    }
  });

  test("are as they came where they were read alone, or set to what they were", () => {
    const own = lazy();
    expect(isUntouched(own)).toBe(true);
    expect([own.headers.get("accept"), [...own.headers].length, own.clone().method]).toEqual(["text/html", 7, "GET"]);
    own.headers.set("accept", "text/html");
    expect(isUntouched(own)).toBe(true);
    own.headers.append("accept", "x");
    expect(isUntouched(own)).toBe(false);
    expect(isUntouched(native())).toBe(false);
  });
});

test("what no Request can be made of is found before a module is asked", () => {
  const fault = (method: string, origin: string) => headOf("/", { method, origin }).fault;
  for (let again = 0; again < 2; again++) {
    expect(fault("GET", "http://shop.test")).toBe(0);
    expect(fault("GET", "http://a b")).toBe(400);
    expect(fault("GET", "http://a:99999")).toBe(400);
    expect(fault("FOO", "http://shop.test")).toBe(501);
    for (let i = 0; i < 20; i++) expect(fault("GET", `http://${i}.test`)).toBe(0);
  }
  const { method, origin, path } = headOf("/p", { method: "GET", origin: "http://shop.test.other" });
  expect([method, origin, path]).toEqual(["GET", "http://shop.test.other", "/p"]);
});

test("facts of a call are those of its record", () => {
  const head = headOf("/a");
  const { auth } = head;
  expect([head.clientIp, head.requestId, head.route, auth, head.auth === auth, head.fields]).toEqual([
    "192.0.2.1",
    "id-1",
    "/shop",
    { user: "ann", claims: {} },
    true,
    FIELDS,
  ]);
});

test("what is kept of a head does not keep the batch that it came in", () => {
  const rest = `B2\n60000\n${"x".repeat(60_000)}`;
  const kept: unknown[] = [];
  const before = process.memoryUsage.rss();
  for (let i = 0; i < 1000; i++) {
    const records = new Records(`q0\nGET\nhttp://h\n/p\n=\n=\n=\n=\ncookie:session-${i}\n\n${rest}${i}`);
    kept.push(new CallHead(records).get("cookie"));
  }
  Bun.gc(true);
  expect(process.memoryUsage.rss() - before).toBeLessThan(30_000_000);
  expect(kept.length).toBe(1000);
});
