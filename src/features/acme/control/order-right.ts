// The right to order a certificate.
import type { Soon } from "./soon.ts";

/** The right to order, which one has at a time. */
export interface OrderRight {
  release(): Soon<void>;
}
