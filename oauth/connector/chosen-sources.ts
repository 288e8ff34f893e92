/** Which data sources a returned consent form gives. Fields carry the organization: what was ticked for another does not count. */
import type { Scope } from '../../src/contracts/scopes.ts'

export type SourceToChoose = { readonly id: string; readonly name: string; readonly title: string }

export const sourceFields = (orgId: string) => ({ which: `sources:${orgId}`, source: `source:${orgId}` })

/** Ids, or null for all that the person may ask, also later ones; or what to say instead of going on. */
export function chosenSources(
  form: URLSearchParams,
  place: { readonly id: string; readonly sources: readonly SourceToChoose[] },
  scopes: readonly Scope[],
): { readonly sources: string[] | null } | { readonly problem: string } {
  // Without the scope there is nothing to ask, and the grant says so.
  if (!scopes.includes('data:read')) return { sources: [] }
  const fields = sourceFields(place.id)
  const which = form.get(fields.which)
  // Where there was none to choose, the page said that later ones are meant.
  if (which === 'all' || (which === null && place.sources.length === 0)) return { sources: null }
  if (which !== 'chosen') return { problem: 'Choose which data sources it may ask.' }
  const given = form.getAll(fields.source)
  // Forged, hidden, removed or above a lowered role: nobody is told which.
  if (given.some((id) => !place.sources.some((source) => source.id === id))) {
    return { problem: 'The data sources changed. Look again, then decide.' }
  }
  if (given.length === 0) return { problem: 'Choose at least one data source, or do not let it ask any.' }
  return { sources: place.sources.filter(({ id }) => given.includes(id)).map(({ id }) => id) }
}
