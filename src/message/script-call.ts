/**
 * What an origin is to run for a request: of FastCGI, a script that has been found below the folder of its route (docs/php.md); of uWSGI
 * and SCGI, the application at its other end (docs/uwsgi.md).
 */
export interface ScriptCall {
  /** Parameters that are the same for each request of this path, encoded as proto/fastcgi/params.ts does. */
  readonly params: Buffer;
  /** The path of the script as clients ask for it, decoded, one character a byte. */
  readonly scriptName: string;
  /** modifier1 and modifier2 of uWSGI; absent for the others. */
  readonly modifiers?: readonly [number, number];
}

/** The ends of a client's connection, as its socket tells them while it is open. */
export interface ConnectionEnds {
  readonly localAddress?: string | undefined;
  readonly localPort: number;
  readonly remotePort?: number;
}

/** Names of the parameters that the gateway sets, which no setting may set otherwise. */
export const SCRIPT_PARAMS: readonly string[] = [
  "AUTH_TYPE",
  "CONTENT_LENGTH",
  "CONTENT_TYPE",
  "DOCUMENT_ROOT",
  "DOCUMENT_URI",
  "GATEWAY_INTERFACE",
  "HTTPS",
  "PATH_INFO",
  "PATH_TRANSLATED",
  "QUERY_STRING",
  "REDIRECT_STATUS",
  "REMOTE_ADDR",
  "REMOTE_PORT",
  "REMOTE_USER",
  "REQUEST_METHOD",
  "REQUEST_SCHEME",
  "REQUEST_URI",
  "REQUEST_URI_RAW",
  "SCRIPT_FILENAME",
  "SCRIPT_NAME",
  "SERVER_ADDR",
  "SERVER_NAME",
  "SERVER_PORT",
  "SERVER_PROTOCOL",
  "SERVER_SOFTWARE",
];
