/** What a FastCGI origin is to run for a request: a script that has been found below the folder of its route. docs/php.md */
export interface ScriptCall {
  /** Parameters that are the same for each request of the script, encoded as proto/fastcgi/params.ts does. */
  readonly params: Buffer;
  /** Absolute path of the folder, one character a byte. */
  readonly documentRoot: string;
  /** The path of the script as clients ask for it, decoded, one character a byte. */
  readonly scriptName: string;
  /** What of the path comes after the script, likewise: "" or `/…`, without NUL. */
  readonly pathInfo: string;
}

/** The ends of a client's connection, as its socket tells them while it is open. */
export interface ConnectionEnds {
  readonly localAddress?: string | undefined;
  readonly localPort: number;
  readonly remotePort?: number;
}
