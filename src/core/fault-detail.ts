/**
 * Why an attempt at an origin failed, chosen at the place of the failure. A new cause is a member here and its row in
 * fault-detail-rows.ts.
 */
export const enum FaultDetail {
  None = 0,
  // Its name.
  DnsNotFound,
  DnsFailed,
  DnsTimeout,
  // The connection.
  ConnectRefused,
  ConnectTimeout,
  SocketNotFound,
  // TLS.
  TlsOnCleartext,
  TlsHandshakeClosed,
  TlsHandshakeTimeout,
  TlsAlert,
  TlsSelfSigned,
  TlsExpired,
  TlsName,
  TlsUnknownIssuer,
  // The wrong protocol.
  CleartextOnTls,
  NotHttp,
  Http1OnH2,
  H2OnHttp1,
  // Before the head of the response is whole.
  ClosedBeforeHead,
  ResetBeforeHead,
  ClosedInHead,
  FirstByteTimeout,
  HeadTimeout,
  // The head itself.
  BadStatus,
  BadField,
  BadLength,
  TooManyFields,
  HeadTooLarge,
  // Its body.
  BadChunk,
  ClosedInBody,
  ResetInBody,
  IdleTimeout,
  // HTTP/2.
  H2Reset,
  H2GoAway,
  H2Protocol,
}
