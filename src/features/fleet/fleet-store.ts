/** What a fleet keeps in common. One port: Redis and what speaks as it does is behind it. docs/fleet.md */
export interface FleetStore {
  /**
   * One command. @param key the name of the key that it is about, which decides where it goes; it is among `words` too
   * @throws where the store refuses it, is away, or takes longer than the limit of the store
   */
  call(key: string, words: readonly string[]): Promise<unknown>;
  close(): void;
}
