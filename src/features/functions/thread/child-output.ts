/** Writes what a module tells, with the level that its method has. */
export type WriteLine = (level: "debug" | "info" | "warn" | "error", values: readonly unknown[]) => void;

/** What is written by processes that a module starts with the gateway's own outputs. */
type Outputs = Record<string, unknown>;
type Spawn = (...args: unknown[]) => unknown;

/**
 * Keeps processes that a module starts from the outputs of the gateway, which hold its log: what was to go there becomes lines of it. Loaded before the
 * module: what `node:child_process` starts goes by the same way.
 * @param write writes a line of the log
 */
export function containChildren(write: WriteLine): void {
  const [spawn, spawnSync, shell] = [Bun.spawn as Spawn, Bun.spawnSync as Spawn, Bun.$];
  const define = (name: string, value: unknown): void => {
    (Bun as unknown as Outputs)[name] = value;
  };
  define("spawn", (...args: unknown[]) => {
    const own = takeOutputs(args, true);
    const child = spawn(...args) as Outputs;
    for (const name of own) void tell(child[name] as ReadableStream<Uint8Array>, name, write);
    return child;
  });
  define("spawnSync", (...args: unknown[]) => {
    const own = takeOutputs(args, false);
    const done = spawnSync(...args) as Outputs;
    for (const name of own) tellText(String(done[name] ?? ""), name, write);
    return done;
  });
  // What a command of it writes is its value.
  const quiet = (...args: Parameters<typeof shell>) => shell(...args).quiet();
  define("$", Object.assign(quiet, shell));
}

/** Replaces what a process was to inherit by pipes. @returns the names of these outputs */
function takeOutputs(args: unknown[], isErrorInherited: boolean): readonly string[] {
  const at = Array.isArray(args[0]) ? 1 : 0;
  const given = { ...((args[at] ?? {}) as Outputs) };
  const stdio = Array.isArray(given.stdio) ? [...(given.stdio as unknown[])] : null;
  const own: string[] = [];
  for (const [fd, name] of [
    [1, "stdout"],
    [2, "stderr"],
  ] as const) {
    const wanted = stdio === null ? given[name] : stdio[fd];
    const isOwn = wanted === "inherit" || wanted === fd || wanted === 3 - fd;
    if (!isOwn && !(wanted === undefined && fd === 2 && isErrorInherited)) continue;
    own.push(name);
    if (stdio === null) given[name] = "pipe";
    else stdio[fd] = "pipe";
  }
  if (stdio !== null) given.stdio = stdio;
  args[at] = given;
  return own;
}

async function tell(output: ReadableStream<Uint8Array>, name: string, write: WriteLine): Promise<void> {
  try {
    for await (const piece of output) tellText(Buffer.from(piece).toString(), name, write);
  } catch {
    // It has ended.
  }
}

function tellText(text: string, name: string, write: WriteLine): void {
  if (text !== "") write(name === "stderr" ? "warn" : "info", [text.replace(/\n$/, "")]);
}
