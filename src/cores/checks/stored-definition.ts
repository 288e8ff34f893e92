/** How a definition is kept: the values of its headers sealed apart from it, and never returned. */
import { KEPT_HEADER } from '../../contracts/check-results.ts'
import { type CheckDefinition } from '../../contracts/checks.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { readLogPattern } from './log-pattern.ts'

type CheckKey = { readonly orgId: string; readonly id: string }
type Headers = Readonly<Record<string, string>>

export type StoredDefinition = { readonly definition: CheckDefinition; readonly sealedHeaders: string | null }

const placeOf = ({ orgId, id }: CheckKey): string => `check ${orgId} ${id}`

/** `before` is what it replaces; a header that is to be kept is read from there. */
export function storeDefinition(
  dataKeys: DataKeys,
  key: CheckKey,
  definition: CheckDefinition,
  before?: StoredDefinition,
): StoredDefinition {
  const problems: string[] = []
  if (definition.kind === 'logs' && !readLogPattern(definition.pattern))
    problems.push('definition.pattern: must be text, or a regular expression of RE2 between slashes')
  if (definition.kind === 'http' && definition.body !== undefined && definition.method !== 'POST')
    problems.push('definition.body: is sent with POST only')
  const headers =
    definition.kind === 'http' ? keepHeaders(dataKeys, key, definition, before, problems) : undefined
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
  if (!headers || definition.kind !== 'http') return { definition, sealedHeaders: null }
  const names = Object.keys(headers)
  return {
    definition: { ...definition, headers: Object.fromEntries(names.map((name) => [name, KEPT_HEADER])) },
    sealedHeaders: names.length === 0 ? null : dataKeys.seal(placeOf(key), JSON.stringify(headers)),
  }
}

/**
 * A kept value goes to the origin it was given for and to no other: whoever may change a check, but does not know the
 * secret, could have it sent to themselves.
 */
function keepHeaders(
  dataKeys: DataKeys,
  key: CheckKey,
  { url, headers }: Extract<CheckDefinition, { kind: 'http' }>,
  before: StoredDefinition | undefined,
  problems: string[],
): Headers {
  const entries = Object.entries(headers)
  if (!entries.some(([, value]) => value === KEPT_HEADER)) return headers
  const isSameOrigin =
    before?.definition.kind === 'http' && new URL(before.definition.url).origin === new URL(url).origin
  const stored = new Map(
    Object.entries(before ? openHeaders(dataKeys, key, before) : {}).map(([name, value]) => [
      name.toLowerCase(),
      value,
    ]),
  )
  return Object.fromEntries(
    entries.map(([name, value]) => {
      if (value !== KEPT_HEADER) return [name, value]
      const kept = isSameOrigin ? stored.get(name.toLowerCase()) : undefined
      if (kept === undefined)
        problems.push(
          `definition.headers.${name}: ${stored.has(name.toLowerCase()) ? 'must be given again, because the host changed' : 'has no value that could be kept'}`,
        )
      return [name, kept ?? '']
    }),
  )
}

export const openHeaders = (
  dataKeys: DataKeys,
  key: CheckKey,
  { sealedHeaders }: Pick<StoredDefinition, 'sealedHeaders'>,
): Headers =>
  sealedHeaders === null ? {} : (JSON.parse(dataKeys.open(placeOf(key), sealedHeaders)) as Headers)
