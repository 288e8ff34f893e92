/** Which data sources a submitted consent form grants. Field names contain the organization: those of others are ignored. */
import type { Scope } from '../../src/contracts/scopes.ts'

export type SourceToChoose = {
  readonly id: string
  readonly name: string
  readonly title: string
  /** Whether not everybody sees every row of it. */
  readonly limitsRows: boolean
}

export const sourceFields = (orgId: string) => ({ which: `sources:${orgId}`, source: `source:${orgId}` })

/** Ids, or null for all that the user can query, now and later; or the problem to show. */
export function chosenSources(
  form: URLSearchParams,
  organization: { readonly id: string; readonly sources: readonly SourceToChoose[] },
  scopes: readonly Scope[],
): { readonly sources: string[] | null } | { readonly problem: string } {
  // Without the scope nothing can be queried.
  if (!scopes.includes('data:read')) return { sources: [] }
  const fields = sourceFields(organization.id)
  const which = form.get(fields.which)
  // Where there was none to choose, the page said that future ones are included.
  if (which === 'all' || (which === null && organization.sources.length === 0)) return { sources: null }
  if (which !== 'chosen') return { problem: 'Choose which data sources it may query.' }
  const given = form.getAll(fields.source)
  // Forged, hidden, removed or above a lowered role: the answer is the same.
  if (given.some((id) => !organization.sources.some((source) => source.id === id))) {
    return { problem: 'The data sources have changed. Review them and decide again.' }
  }
  if (given.length === 0) return { problem: 'Select at least one data source, or do not grant data:read.' }
  return { sources: organization.sources.filter(({ id }) => given.includes(id)).map(({ id }) => id) }
}
