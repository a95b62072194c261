/** From a worker: a client asks for a name that has no certificate; `settled` answers. */
export interface WantedMessage {
  readonly kind: "wanted";
  readonly name: string;
}

/** From the control thread: the certificate that a client of this worker has asked for is there, or there will be none. */
export interface SettledMessage {
  readonly kind: "settled";
  readonly name: string;
}
