/** What a FastCGI origin is to run for a request: a script that has been found below the folder of its route. docs/php.md */
export interface ScriptCall {
  /** Parameters that are the same for each request of this path, encoded as proto/fastcgi/params.ts does. */
  readonly params: Buffer;
  /** The path of the script as clients ask for it, decoded, one character a byte. */
  readonly scriptName: string;
}

/** The ends of a client's connection, as its socket tells them while it is open. */
export interface ConnectionEnds {
  readonly localAddress?: string | undefined;
  readonly localPort: number;
  readonly remotePort?: number;
}
