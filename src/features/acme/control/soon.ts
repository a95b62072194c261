// What storage gives, whether it is at hand or far away.

/** At once, or later. */
export type Soon<T> = T | Promise<T>;
