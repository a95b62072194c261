/** A request to a language model. docs/ai.md */
export interface AiUse {
  /** As the client has named it, and the configuration knows it. */
  readonly model: string;
  /** Tokens of the request, and of the response so far. */
  readonly promptTokens: number;
  readonly completionTokens: number;
  /** The exchange is over: counts its tokens, once. */
  settle(): void;
}
