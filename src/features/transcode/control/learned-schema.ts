/** What an upstream has told of itself, in the control thread, for all workers. */
export interface LearnedSchema {
  /** Of which upstream. */
  readonly source: string;
  /** A FileDescriptorSet. */
  readonly base64: string;
}

/** The descriptor set of what was learned: no path of a file. */
export const LEARNED_SET = "reflection";
