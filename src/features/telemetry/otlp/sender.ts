/** Who sends: it stands before all that is sent. */
export interface OtlpSender {
  /** Attributes by name. */
  readonly resource: Readonly<Record<string, string>>;
  readonly scope: { readonly name: string; readonly version: string };
}
