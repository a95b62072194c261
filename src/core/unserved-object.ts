/** An object of a cluster that edge does not serve, or not as it stands. docs/gateway-api.md#what-is-not-served */
export interface UnservedObject {
  /** `HTTPRoute namespace/name`. */
  readonly object: string;
  /** As its condition or event has it, such as BackendNotFound. */
  readonly reason: string;
  readonly message: string;
}
