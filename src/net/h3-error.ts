/** The error codes of HTTP/3 that streams are reset, and connections closed with. RFC 9114 §8.1. */
export const enum H3Error {
  NoError = 0x100,
  InternalError = 0x102,
  RequestRejected = 0x10b,
  RequestCancelled = 0x10c,
}
