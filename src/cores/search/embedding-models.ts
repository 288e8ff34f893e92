/** The models that turn a question into a vector. Only questions are embedded here; the service never writes vectors. */
export type EmbeddingModels = {
  /** Undefined when no such model is configured. */
  dimensionsOf(model: string): number | undefined
  /** Names, for error messages. */
  readonly names: readonly string[]
  /**
   * Throws ServiceError EMBEDDING_UNAVAILABLE, with a cause for the log that never holds the question or the key.
   * `owner` separates the cache: a fast answer must not tell one organization what another has asked.
   */
  embed(owner: string, model: string, question: string): Promise<readonly number[] | Float32Array>
  close(): Promise<void>
}
