/** Sources that a search over many could not ask, in words for people and assistants. The client `svc` loads this file and no zod. */

export type UnavailableSource = { readonly source_id: string; readonly reason: string }

/** All may be missing at once; a few say enough. */
const NAMED_MAX = 10

export function unavailableText(unavailable: readonly UnavailableSource[]): string {
  const named = unavailable.slice(0, NAMED_MAX).map(({ source_id, reason }) => `${source_id} (${reason})`)
  const others = unavailable.length - named.length
  const more = others > 0 ? ` and ${others} more` : ''
  return `Not searched: ${named.join(', ')}${more}. The results are from the other data sources.`
}
