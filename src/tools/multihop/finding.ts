/** What a finding speaks against. */
export const enum Concern {
  /** The gateway did not do with the vector what it must. */
  Vector,
  /**
   * The gateway and an origin disagree about where requests begin and end, or which response belongs to which; or the gateway
   * ran what was hidden in an attack.
   */
  Desync,
  /** A benign request felt an attack, or a connection that an attack has spoilt is still kept for others. */
  Pool,
}

/** Something that was seen and should not be. */
export interface Discrepancy {
  readonly concern: Concern;
  readonly text: string;
}
