// A function that runs one file of the Web Platform Tests, with their own harness, in the thread that modules run in, and gives its results.
// What the tests find in a browser's worker and a function has not: a base URL, and a server with the files beside the test.
import { existsSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

/** One test, as testharness.js tells it. */
export interface Result {
  readonly name: string;
  /** 0 where it has passed. */
  readonly status: number;
  readonly message: string | null;
}

const ORIGIN = "http://web-platform.test";
const FILE_LIMIT_MS = 20_000;
/** Begins the message of a test that asks the server of the suite for what is no file. */
const NEEDS_SERVER = "needs the server of the suite";

export default {
  async fetch(request: Request, { env }: { readonly env: { readonly WPT: string } }): Promise<Response> {
    const file = new URL(request.url).searchParams.get("file")!;
    return Response.json(await run(env.WPT, file));
  },
};

async function run(root: string, file: string): Promise<Result[]> {
  const source = readFileSync(join(root, file), "utf8");
  const scripts = [...source.matchAll(/^\/\/ META: script=(.*)$/gm)].map(([, path]) => path!.trim());
  const texts = scripts.map((path) => readFileSync(pathOf(root, file, path), "utf8"));
  const harness = readFileSync(join(root, "resources/testharness.js"), "utf8");
  const done = Promise.withResolvers<Result[]>();
  const globals = {
    GLOBAL: { isWindow: () => false, isWorker: () => true, isShadowRealm: () => false },
    location: { href: `${ORIGIN}/${file.replace(".js", ".html")}`, origin: ORIGIN },
    __report: (results: Result[]) =>
      done.resolve(results.map(({ name, status, message }) => ({ name, status, message }))),
  };
  Object.assign(globalThis, globals);
  const code = [
    harness,
    "setup({ explicit_done: true, explicit_timeout: true });",
    "add_completion_callback(__report);",
    ...texts,
    source,
    "done();",
  ].join("\n");
  const timer = setTimeout(() => done.reject(new Error(`${file} does not end`)), FILE_LIMIT_MS);
  try {
    new Function("fetch", "Request", code)(fileFetch(root, file), withBase(Request, globals.location.href));
    return await done.promise;
  } finally {
    clearTimeout(timer);
  }
}

function pathOf(root: string, file: string, path: string): string {
  return path.startsWith("/") ? join(root, path) : resolve(root, dirname(file), path);
}

/** Gives files of the suite for relative addresses. */
function fileFetch(root: string, file: string): typeof fetch {
  const give = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const address = input instanceof Request ? input.url : String(input);
    const path = address.startsWith(`${ORIGIN}/`) ? address.slice(ORIGIN.length) : address;
    if (/^[a-z]+:/i.test(path)) return fetch(input, init);
    const full = pathOf(root, file, path.replace(/[?#].*$/s, ""));
    if (!existsSync(full) || full.endsWith(".py")) throw new Error(`${NEEDS_SERVER}: ${path}`);
    return new Response(Bun.file(full));
  };
  return Object.assign(give, { preconnect: fetch.preconnect });
}

/** The same class, for which relative URLs have a base. */
function withBase(type: typeof Request, base: string): typeof Request {
  return new Proxy(type, {
    construct(target, [input, ...rest], newTarget) {
      const isText = !(input instanceof target) && !URL.canParse(input);
      return Reflect.construct(target, [isText ? new URL(input, base).href : input, ...rest], newTarget);
    },
  });
}
