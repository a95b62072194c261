/** A request as an origin's parser understood it. */
export interface SeenRequest {
  /** Number of the connection that brought it. */
  readonly connection: number;
  readonly method: string;
  readonly target: string;
  /** Its head as it came. */
  readonly head: string;
  readonly body: Buffer;
  /** The value of TOKEN_FIELD; "" without. */
  readonly token: string;
  /** The value of SMUGGLED_FIELD; "" without. */
  readonly smuggled: string;
}

/** What an origin has seen in one scenario. */
export interface OriginSight {
  /** Every whole request, in the order of their ends. */
  readonly requests: readonly SeenRequest[];
  /** Bytes that the origin's parser refused, as the beginning of each. */
  readonly refused: readonly string[];
  /** Connections that are still open in the middle of a request, with the bytes that wait there. */
  readonly unfinished: readonly { readonly connection: number; readonly bytes: number }[];
  readonly receivedBytes: number;
}

/** An origin that can tell what it was given. */
export interface Witness {
  /** Forgets what was seen so far. */
  mark(): void;
  /** What was seen since `mark`, once connections that were given up had time to end. */
  sight(): Promise<OriginSight>;
  /** Ends every connection, so that a pool which one scenario has spoilt does not speak against the next. */
  dropConnections(): Promise<void>;
}
