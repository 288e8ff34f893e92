/** Aborts with another one. Returns what ends that: `AbortSignal.any` would be remembered for as long as the other lasts. */
export function follow(own: AbortController, other: AbortSignal): () => void {
  const abort = () => own.abort(other.reason)
  if (other.aborted) abort()
  else other.addEventListener('abort', abort, { once: true })
  return () => other.removeEventListener('abort', abort)
}
