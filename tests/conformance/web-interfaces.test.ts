// Where the runtime's Request, Response, Headers and URL differ from the standards that functions are written for, asked of the runtime
// itself. docs/functions.md#web-interfaces says what it means; a version of the runtime that mends one of them fails here.
import { expect, test } from "bun:test";

type Check = () => unknown;

const U = "http://h.test/";
const throws = (work: Check, type: ErrorConstructor = TypeError): boolean => {
  try {
    work();
    return false;
  } catch (error) {
    return error instanceof type;
  }
};
const rejects = async (work: () => Promise<unknown>): Promise<boolean> => {
  try {
    await work();
    return false;
  } catch (error) {
    return error instanceof TypeError;
  }
};
const post = (body: unknown) => new Request(U, { method: "POST", body } as RequestInit);
const cookies = () => {
  const headers = new Headers();
  for (const [name, value] of [
    ["set-cookie", "a"],
    ["x", "1"],
    ["set-cookie", "b"],
  ] as const)
    headers.append(name, value);
  return headers;
};
const streamOf = (...chunks: unknown[]) =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as Uint8Array<ArrayBuffer>);
      controller.close();
    },
  }) as ReadableStream<Uint8Array<ArrayBuffer>>;

const REQUEST: Readonly<Record<string, Check>> = {
  "a GET with a body is refused": () => throws(() => new Request(U, { method: "GET", body: "x" })),
  "CONNECT and TRACE are refused": () => throws(() => new Request(U, { method: "TRACE" })),
  "a method that is no token is refused": () => throws(() => new Request(U, { method: "a b" })),
  "get is GET": () => new Request(U, { method: "get" }).method === "GET",
  "patch stays patch": () => new Request(U, { method: "patch" }).method === "patch",
  "a method of one's own is kept": () => new Request(U, { method: "FOO" }).method === "FOO",
  "PROPFIND is kept": () => new Request(U, { method: "PROPFIND" }).method === "PROPFIND",
  "credentials in the URL are refused": () => throws(() => new Request("http://u:p@h.test/")),
  "a relative URL is refused": () => throws(() => new Request("/x")),
  "a stream as body needs duplex": () => throws(() => post(new ReadableStream())),
  "the fragment is in url": () => new Request(`${U}#x`).url === `${U}#x`,
  "text has a Content-Type": () => post("x").headers.get("content-type") === "text/plain;charset=UTF-8",
  "a form has a Content-Type": () => post(new URLSearchParams("a=1")).headers.has("content-type"),
  "a request that was read is refused": async () => {
    const request = post("x");
    await request.text();
    return throws(() => new Request(request));
  },
  "a request made of another takes its body": () => {
    const request = post("x");
    new Request(request);
    return request.bodyUsed;
  },
  "headers of a clone are its own": () => {
    const request = new Request(U, { headers: { a: "1" } });
    request.clone().headers.set("a", "2");
    return request.headers.get("a") === "1";
  },
  "there is a signal": () => new Request(U).signal instanceof AbortSignal,
  "credentials: same-origin": () => new Request(U).credentials === "same-origin",
};

const RESPONSE: Readonly<Record<string, Check>> = {
  "statuses below 200 and above 599 are refused": () =>
    [101, 199, 600].every((status) => throws(() => new Response(null, { status }), RangeError)),
  "199 and 600 are refused": () =>
    [199, 600].every((status) => throws(() => new Response(null, { status }), RangeError)),
  "204, 205 and 304 take no body": () => [204, 205, 304].every((status) => throws(() => new Response("x", { status }))),
  "a statusText with a line break is refused": () => throws(() => new Response("", { statusText: "a\n" })),
  "redirect takes redirecting statuses alone": () => throws(() => Response.redirect(U, 200), RangeError),
  "redirect refuses what is no URL": () => throws(() => Response.redirect("http://:::")),
  "headers of redirect and error cannot be changed": () => throws(() => Response.redirect(U).headers.set("a", "b")),
  "json refuses undefined": () => throws(() => Response.json(undefined)),
  "json says application/json": () => Response.json({}).headers.get("content-type") === "application/json",
  "error has the status 0": () => Response.error().status === 0 && Response.error().type === "error",
  "a body is read once": async () => {
    const response = new Response("x");
    await response.text();
    return (await rejects(() => response.text())) && throws(() => response.clone());
  },
  "a clone has the same body": async () => {
    const response = new Response(streamOf(new Uint8Array([65])));
    const copy = response.clone();
    return (await response.text()) === "A" && (await copy.text()) === "A";
  },
  "a stream in use is refused": () => {
    const stream = new ReadableStream();
    stream.getReader();
    return throws(() => new Response(stream));
  },
  "a stream gives bytes alone": () => rejects(() => new Response(streamOf("text")).text()),
  "text has no byte order mark": async () => (await new Response("\ufeffx").text()) === "x",
  "what is not UTF-8 is U+FFFD": async () => (await new Response(new Uint8Array([0xff, 65])).text()) === "\ufffdA",
  "the type of a blob is in small letters": async () =>
    (await new Response("x", { headers: { "content-type": "A/B" } }).blob()).type === "a/b",
  "a form needs its Content-Type": () =>
    rejects(() => new Response("a=1", { headers: { "content-type": "text/plain" } }).formData()),
  "a form is read": async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    return (await new Response("a=1&b=%C3%A9+", { headers }).formData()).get("b") === "é ";
  },
};

const BODIES: Readonly<Record<string, Check>> = {
  "a reader that was released has read nothing": async () => {
    const response = new Response("x");
    response.body!.getReader().releaseLock();
    return !(await rejects(() => response.text()));
  },
  "bodies have BYOB readers": () => !throws(() => new Response("x").body!.getReader({ mode: "byob" })),
  "a clone has chunks of its own": async () => {
    const response = new Response(streamOf(new Uint8Array([65])));
    const readers = [response.clone(), response].map(({ body }) => body!.getReader().read());
    const [one, other] = await Promise.all(readers);
    return one!.value !== other!.value;
  },
};

const HEADERS: Readonly<Record<string, Check>> = {
  "names are sorted, values joined": () =>
    [
      ...new Headers([
        ["b", "1"],
        ["A", "2"],
        ["b", "3"],
      ]),
    ].join("|") === "a,2|b,1, 3",
  "Set-Cookie is never joined in a list": () => [...cookies()].filter(([name]) => name === "set-cookie").length === 2,
  "Set-Cookie has its place among the names": () => [...cookies()].join("|") === "set-cookie,a|set-cookie,b|x,1",
  "getSetCookie has them all": () => cookies().getSetCookie().join() === "a,b",
  "names that are no tokens are refused": () =>
    ["", " a", "a ", "a:b", "é", "a\n", "(", "a/b"].every((name) => throws(() => new Headers([[name, "x"]]))),
  "values with a line break or NUL are refused": () =>
    ["a\nb", "a\rb", "a\0b", "\u0100"].every((value) => throws(() => new Headers([["a", value]]))),
  "white space around a value is dropped": () => new Headers([["a", " \t\r\nx\r\n "]]).get("a") === "x",
  "a pair has two parts": () => throws(() => new Headers([["a", "b", "c"]] as unknown as [string, string][])),
};

const ADDRESS: Readonly<Record<string, Check>> = {
  "names are canonical": () => new URL("HTTP://EXAMPLE.com:80/a/../b?q#h").href === "http://example.com/b?q#h",
  IDNA: () => new URL("http://ü.test/").host === "xn--tda.test",
  "addresses are canonical": () =>
    new URL("http://0x7f.1/").host === "127.0.0.1" && new URL("http://[::0:1]/").host === "[::1]",
  "what is no URL is refused": () =>
    throws(() => new URL("http://a:99999/")) && URL.parse("x") === null && !URL.canParse("x"),
  "setters drop what does not fit": () => {
    const url = new URL("http://a/");
    url.port = "90x";
    url.protocol = "foo";
    url.hash = "é";
    return url.href === "http://a:90/#%C3%A9";
  },
  "a default port in host takes the port away": () => {
    const url = new URL("http://a:8080/");
    url.host = "b:80";
    return url.href === "http://b/";
  },
  "the origin of other schemes is null": () => new URL("ftps:/a/").origin === "null",
  queries: () => {
    const query = new URLSearchParams("z=1&a=2&a=3");
    query.sort();
    return query.toString() === "a=2&a=3&z=1" && query.size === 3 && !query.has("a", "4");
  },
};

/** As of the version in package.json. */
const DIFFERENCES: readonly string[] = [
  "a GET with a body is refused",
  "CONNECT and TRACE are refused",
  "a method that is no token is refused",
  "patch stays patch",
  "a method of one's own is kept",
  "credentials in the URL are refused",
  "a stream as body needs duplex",
  "text has a Content-Type",
  "a request that was read is refused",
  "a request made of another takes its body",
  "credentials: same-origin",
  "statuses below 200 and above 599 are refused",
  "204, 205 and 304 take no body",
  "a statusText with a line break is refused",
  "redirect refuses what is no URL",
  "headers of redirect and error cannot be changed",
  "json says application/json",
  "a stream gives bytes alone",
  "text has no byte order mark",
  "the type of a blob is in small letters",
  "a reader that was released has read nothing",
  "bodies have BYOB readers",
  "a clone has chunks of its own",
  "Set-Cookie has its place among the names",
  "a default port in host takes the port away",
  "the origin of other schemes is null",
];

test("the runtime differs from the standards where the documentation says, and nowhere else", async () => {
  const failed: string[] = [];
  for (const [name, check] of Object.entries({ ...REQUEST, ...RESPONSE, ...BODIES, ...HEADERS, ...ADDRESS }))
    if ((await check()) !== true) failed.push(name);
  expect(failed).toEqual([...DIFFERENCES]);
});
