/** What rules of `waf.rules` know of a request. */
export interface RuleState {
  /** Whether a rule has said that nothing is refused. */
  readonly onlyDetects: boolean;
  /** Whether the firewall's own rules are passed over. */
  readonly skipsAll: boolean;
  /** Whether one of those is off. @param crs numbers of its counterparts @param param the name of what it matched in */
  turnsOff(crs: readonly number[], param: string): boolean;
}
