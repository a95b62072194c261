/** Who has asked for something, as a line `audit` of the log names it. docs/operations.md#audit */
export interface Operator {
  /** A user of `internal_api.auth`, `token`, `uid 1000` of a UNIX socket's peer, `signal`; "" if nothing is known. */
  readonly by: string;
  /** The client's address, `unix` for the socket, or the name of the signal. */
  readonly from: string;
}
