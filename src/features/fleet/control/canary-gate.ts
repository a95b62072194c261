import type { CanaryConfig } from "../settings.ts";

/** Says when this gateway takes what is new. */
export interface CanaryGate {
  /** There is a new version at the source, which waits. */
  found(version: string): void;
  /** The source has what this gateway runs, or ran before. */
  none(running: string): void;
  /** A version has been applied, or could not be. @param fault "" if it has */
  tried(version: string, fault: string): void;
}

/** A source whose new versions are tried on some gateways first. */
export interface TriedSource {
  /** The settings by which new configurations are tried; null while they are not. */
  readonly canary: CanaryConfig | null;
  /** What runs, whether it is on trial, and which version waits ("" for none). */
  state(): { readonly version: string; readonly on_trial: boolean; readonly waiting: string };
  /** The trial of the version that waits has come to this gateway. */
  try(version: string): void;
  /** A version has passed. */
  accept(version: string): void;
  /** A version has failed: what was in use before goes on. */
  refuse(version: string): void;
  /** Asks the source now. */
  hurry(): void;
}
