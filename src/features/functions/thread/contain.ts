import { containChildren, type WriteLine } from "./child-output.ts";
import { adoptLazyRequests, nativeOf } from "./lazy-request.ts";
import { adoptMadeResponses } from "./made-response.ts";

/** What a program may do to its process, and a function may not: it would do it to the gateway. */
const PROCESS_WIDE = [
  "abort",
  "chdir",
  "kill",
  "umask",
  "setuid",
  "setgid",
  "seteuid",
  "setegid",
  "setgroups",
  "initgroups",
  "dlopen",
  "_kill",
  "_debugProcess",
  "_debugEnd",
  "loadEnvFile",
] as const;

/** What modules of this thread were refused. */
const refused: Set<string> = new Set();

/** Why a module could not be loaded, with what it was refused: packages of native code say of that alone that it is not there. */
export function withRefusal(message: string): string {
  if (!refused.has("dlopen") || message.includes("process.dlopen")) return message;
  return `${message} (native code was refused: functions.allow needs "process" for it)`;
}

const CONSOLE = [
  ["debug", "debug"],
  ["log", "info"],
  ["info", "info"],
  ["warn", "warn"],
  ["error", "error"],
  ["trace", "debug"],
] as const;

/** Events of a process that are a thread's own; the others are signals. */
const SIGNAL = /^SIG[A-Z0-9]+$/;

/**
 * Keeps a module from what belongs to the whole process, by accident: it is no wall against a module that means harm, which can read what
 * the process can read. docs/functions.md#isolation
 * @param write writes a line of the log, for `console`
 * @param mayChangeProcess whether `functions.allow` has `process`
 */
export function contain(mayChangeProcess: boolean, write: WriteLine): void {
  containConsole(write);
  containChildren(write);
  // The gateway's standard output holds its log: what is not one of its lines would break it.
  for (const [name, level] of [["stdout", "info"] as const, ["stderr", "warn"] as const]) {
    const stream = process[name] as { write(chunk: unknown, ...others: unknown[]): boolean };
    stream.write = (chunk, ...others) => {
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString();
      write(level, [text.replace(/\n$/, "")]);
      const done = others.at(-1);
      if (typeof done === "function") queueMicrotask(() => done());
      return true;
    };
    // They would close what the gateway writes its log to.
    for (const end of ["end", "destroy", "destroySoon"]) {
      const ignore = (chunk?: unknown) => {
        if (typeof chunk === "string") stream.write(chunk);
        return stream;
      };
      Object.defineProperty(stream, end, { value: ignore, configurable: true, writable: true });
    }
  }
  // They ask at the terminal of the gateway, and wait for it.
  for (const name of ["alert", "confirm", "prompt"]) Reflect.deleteProperty(globalThis, name);
  // A response from `fetch` holds its body unpacked: what says that it is packed would be untrue of it. So does Deno.
  globalThis.fetch = unpackedFetch(globalThis.fetch);
  adoptMadeResponses();
  adoptLazyRequests();
  if (mayChangeProcess) return;
  for (const name of PROCESS_WIDE) {
    const refuse = () => {
      refused.add(name);
      throw new Error(`process.${name} belongs to the whole gateway: functions.allow needs "process" for it`);
    };
    Object.defineProperty(process, name, { value: refuse, configurable: true, writable: true });
  }
  for (const name of ["on", "addListener", "once", "prependListener", "prependOnceListener"] as const) {
    const listen = process[name] as (event: string | symbol, listener: unknown) => unknown;
    const ownOnly = (event: string | symbol, listener: unknown): unknown =>
      typeof event === "string" && SIGNAL.test(event) ? process : listen.call(process, event, listener);
    Object.defineProperty(process, name, { value: ownOnly, configurable: true, writable: true });
  }
}

/** All that a console shows is lines of the log; most methods are rare, and what formats for them is loaded at the first use. */
function containConsole(write: WriteLine): void {
  const { Console } = console;
  let shown: Readonly<Record<string, unknown>> | null = null;
  const methods = new Map<string, (...values: readonly unknown[]) => unknown>(
    CONSOLE.map(([name, level]) => [name, (...values) => write(level, values)]),
  );
  methods.set("write", (...values) => write("info", [values.map(String).join("").replace(/\n$/, "")]));
  for (const name of Object.keys(console)) {
    if (name === "Console") continue;
    const rare = (...values: readonly unknown[]): unknown => {
      shown ??= new Console({ stdout: process.stdout, stderr: process.stderr }) as unknown as Record<string, unknown>;
      const method = shown[name];
      return typeof method === "function" ? method.apply(shown, values) : undefined;
    };
    const value = methods.get(name) ?? rare;
    Object.defineProperty(console, name, { value, configurable: true, writable: true, enumerable: true });
  }
}

function unpackedFetch(native: typeof fetch): typeof fetch {
  const fetched = async (...args: Parameters<typeof fetch>): Promise<Response> => {
    const response = await native(...(args.map(nativeOf) as Parameters<typeof fetch>));
    const { decompress } = (args[1] ?? {}) as { readonly decompress?: boolean };
    if (decompress !== false && response.headers.has("content-encoding")) {
      response.headers.delete("content-encoding");
      response.headers.delete("content-length");
    }
    return response;
  };
  return Object.assign(fetched, native);
}
