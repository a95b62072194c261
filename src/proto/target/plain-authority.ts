/** Lower case, and without the port that the scheme has anyway. RFC 9421 §2.2.3 */
export function plainAuthority(authority: string, scheme: string): string {
  const usual = scheme === "https" ? ":443" : ":80";
  const lower = authority.toLowerCase();
  const plain = lower.endsWith(usual) ? lower.slice(0, -usual.length) : lower;
  return plain.endsWith(":") ? plain.slice(0, -1) : plain;
}
