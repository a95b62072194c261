/** How this program starts itself: the compiled binary by its path, the source tree by the runtime and its entry point. */
export function ownCommand(): readonly string[] {
  return EMBEDDED.test(Bun.main) ? [process.execPath] : [process.execPath, Bun.main];
}

/** The environment of a gateway that is started from here: it is the gateway, whatever this process was told. */
export function gatewayEnvironment(): Record<string, string | undefined> {
  return { ...process.env, BUN_BE_BUN: undefined };
}

/** Where the runtime has the files of a compiled binary, on Windows as elsewhere. */
const EMBEDDED = /^(?:\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/;
