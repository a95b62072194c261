/**
 * Whether an error event of a socket is the TLS library's: the peer has sent an alert, or bytes that are no TLS. That is
 * the peer's fault and no exception of ours; the close event follows.
 */
export function isTlsError(error: unknown): boolean {
  return (error as { code?: unknown } | null)?.code === "EPROTO";
}
