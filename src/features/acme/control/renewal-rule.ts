import type { RenewalWindow } from "./certificate-authority.ts";

/** When a certificate is good, in milliseconds since the epoch, and whether we obtained it. */
interface CertificateLife {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly isOurs: boolean;
}

/**
 * When a certificate is due for renewal, in milliseconds since the epoch: 30 days before expiry, but one that the gateway
 * obtained not before two thirds of its life, so that one of six days is not renewed again and again. docs/acme.md#renewal
 * @param chosenMs a moment within the window that the authority suggests; null if it suggests none
 */
export function dueAt({ notBeforeMs, notAfterMs, isOurs }: CertificateLife, chosenMs: number | null): number {
  if (chosenMs !== null) return Math.min(chosenMs, notAfterMs);
  const thirtyDaysBefore = notAfterMs - RENEW_BEFORE_MS;
  return isOurs ? Math.max(thirtyDaysBefore, notBeforeMs + (notAfterMs - notBeforeMs) * LIFE_SHARE) : thirtyDaysBefore;
}

/**
 * A moment within the window, the same on every ask as long as the window is the same. RFC 9773 §4.2: all clients
 * together spread over it evenly.
 * @param beforeMs the moment chosen before; null if there was none
 * @param random 0 up to 1
 */
export function momentWithin(window: RenewalWindow, beforeMs: number | null, random: () => number): number {
  if (beforeMs !== null && beforeMs >= window.startMs && beforeMs <= window.endMs) return beforeMs;
  return window.startMs + (window.endMs - window.startMs) * random();
}

/**
 * How long to wait after failures in a row: 1 min up to 24 h, with jitter. docs/acme.md#failures
 * @param failures 1 and up
 * @param retryAfterMs what the authority asked for; 0 if it did not
 */
export function backOff(failures: number, retryAfterMs: number, random: () => number): number {
  const grown = BACK_OFF_MIN_MS * 2 ** Math.min(failures - 1, MAX_DOUBLINGS) * (1 + random() * JITTER);
  return Math.min(Math.max(grown, retryAfterMs), BACK_OFF_MAX_MS);
}

/**
 * How long to wait after a failed order. A nonce that was not taken says nothing about the order, and the next one is likely
 * to be (RFC 8555 §6.5): the order is made again at once, some times.
 * @param failures in a row, this one included: 1 and up
 * @param badNonces how many of them were about a nonce
 */
export function waitAfter(
  { kind, retryAfterMs }: { readonly kind: string; readonly retryAfterMs: number },
  failures: number,
  badNonces: number,
  random: () => number,
): number {
  const isSoon = kind === "badNonce" && retryAfterMs === 0 && badNonces <= MOST_BAD_NONCES;
  return isSoon ? BAD_NONCE_MS * (1 + random() * JITTER) : backOff(failures, retryAfterMs, random);
}

/** In a certificate's record: it is to be renewed whatever the directory suggests. */
export const RENEW_NOW = 0;
const BAD_NONCE_MS = 2000;
const MOST_BAD_NONCES = 5;
const DAY_MS = 86_400_000;
/** No wait after a failure is longer. */
export const BACK_OFF_MAX_MS: number = DAY_MS;
const RENEW_BEFORE_MS = 30 * DAY_MS;
const LIFE_SHARE = 2 / 3;
const BACK_OFF_MIN_MS = 60_000;
const MAX_DOUBLINGS = 11;
const JITTER = 0.5;
