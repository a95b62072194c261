/** Names on one certificate: what public authorities take. */
export const MAX_ACME_NAMES = 100;
