/** Does the work at the first call, and returns the same ever after. */
export function once<T>(work: () => T): () => T {
  let done: { readonly result: T } | undefined
  return () => (done ??= { result: work() }).result
}
