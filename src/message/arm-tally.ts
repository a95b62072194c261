/** Counts how the targets of a version of a service respond. docs/pressure.md#canaries */
export interface ArmTally {
  /** A response has come. @param ms that the origin took to its head; -1 or NaN if that is not known */
  answered(isBad: boolean, ms: number): void;
  /** An attempt has had no response, or one that ended badly, by the fault of the origin. */
  failed(): void;
}
