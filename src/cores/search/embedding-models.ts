/** The models that turn texts into vectors: questions, and in bulk the rows of whoever fills a table. */
export type EmbedOptions = {
  /** Somebody waits for a question, the usual case; texts in bulk come after those. */
  readonly kind?: 'question' | 'bulk' | undefined
  /** A text whose caller has given up is not embedded. */
  readonly signal?: AbortSignal | undefined
}

export type EmbeddingModels = {
  /** Undefined when no such model is configured. */
  dimensionsOf(model: string): number | undefined
  /** Whether it may be used in bulk: the operator opens each model of a provider, which costs money. */
  takesBulk(model: string): boolean
  /** What a text counts against the daily allowance; known before it is sent, so an estimate. */
  tokensOf(model: string, text: string): number
  /** Names, for error messages. */
  readonly names: readonly string[]
  /**
   * Throws ServiceError EMBEDDING_UNAVAILABLE, with a cause for the log that never holds the question or the key, and
   * RATE_LIMITED to an organization that has as many texts waiting as it may. Organizations, the `owner`, take turns, and
   * each has a cache of its own: a fast answer must not tell one what another has asked.
   */
  embed(
    owner: string,
    model: string,
    text: string,
    options?: EmbedOptions,
  ): Promise<readonly number[] | Float32Array>
  close(): Promise<void>
}
