/** Characters of a claim that is kept; a longer one is left out. */
export const MAX_CLAIM_CHARS = 1024;
