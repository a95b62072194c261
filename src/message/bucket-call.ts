/** What a worker asks the store of one key. */
export interface BucketCall {
  /** The name of the bucket in the store, without the fleet's prefix. */
  readonly key: string;
  /** Microseconds in which one token comes, and that an empty bucket takes to be full. */
  readonly unitUs: number;
  readonly capacityUs: number;
  /** Tokens that were given out already. */
  readonly spent: number;
  /** Tokens that are wanted, as far as there are any. */
  readonly want: number;
}

/** What the store says of it. */
export interface BucketReply {
  /** How many of the wanted tokens it gave. */
  readonly granted: number;
  /** Tokens that are left; negative where more were given out than there were. */
  readonly left: number;
  /** Until there is one, 0 if there is. */
  readonly waitMs: number;
}

/** What the store says to each call, null if it does not; null if the store is away. */
export type BucketReplies = readonly (BucketReply | null)[] | null;
