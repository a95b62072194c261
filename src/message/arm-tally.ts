/** Counts how the targets of a version of a service respond. docs/pressure.md#canaries */
export interface ArmTally {
  /** A response has come. @param ms to its head */
  answered(status: number, ms: number): void;
  /** An attempt has had no response, by the fault of the origin. */
  failed(): void;
}
