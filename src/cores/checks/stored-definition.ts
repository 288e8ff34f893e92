/** How a definition is kept: its secrets, the values of headers and the body, sealed apart from it, and never returned. */
import { KEPT_SECRET } from '../../contracts/check-results.ts'
import { CHECK_URL_MAX, type CheckDefinition } from '../../contracts/checks.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import { questionFits } from './judge-budget.ts'
import { isLogPattern } from './log-pattern.ts'

type CheckKey = { readonly orgId: string; readonly id: string }
type HttpCheck = Extract<CheckDefinition, { kind: 'http' }>

export type CheckSecrets = { readonly headers: Readonly<Record<string, string>>; readonly body?: string }
export type StoredDefinition = { readonly definition: CheckDefinition; readonly sealedSecrets: string | null }

const placeOf = ({ orgId, id }: CheckKey): string => `check ${orgId} ${id}`

/** `before` is what it replaces; a secret that is to be kept is read from there. */
export function storeDefinition(
  dataKeys: DataKeys,
  key: CheckKey,
  definition: CheckDefinition,
  before?: StoredDefinition,
): StoredDefinition {
  const problems = problemsOf(definition)
  const secrets =
    definition.kind === 'http' ? secretsOf(dataKeys, key, definition, before, problems) : undefined
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
  if (!secrets || definition.kind !== 'http') return { definition, sealedSecrets: null }
  const names = Object.keys(secrets.headers)
  const isSecret = names.length > 0 || secrets.body !== undefined
  return {
    definition: {
      ...definition,
      headers: Object.fromEntries(names.map((name) => [name, KEPT_SECRET])),
      ...(secrets.body !== undefined && { body: KEPT_SECRET }),
    },
    sealedSecrets: isSecret ? dataKeys.seal(placeOf(key), JSON.stringify(secrets)) : null,
  }
}

function problemsOf(definition: CheckDefinition): string[] {
  const problems: string[] = []
  if (definition.kind === 'logs' && !isLogPattern(definition.pattern))
    problems.push(
      'definition.pattern: must be text, or a regular expression of RE2 between slashes that is not too large',
    )
  if (definition.kind === 'judge' && !questionFits({ ...definition, maxTokens: definition.max_tokens }))
    problems.push('definition.max_tokens: must be more for a question of this length')
  if (definition.kind === 'http' && definition.body !== undefined && definition.method !== 'POST')
    problems.push('definition.body: is sent with POST only')
  return problems
}

/**
 * A kept secret goes to the origin it was given for and to no other: whoever may change a check, but does not know the
 * secret, could have it sent to themselves.
 */
function secretsOf(
  dataKeys: DataKeys,
  key: CheckKey,
  { url, headers, body }: HttpCheck,
  before: StoredDefinition | undefined,
  problems: string[],
): CheckSecrets {
  const stored: CheckSecrets = before ? openSecrets(dataKeys, key, before) : { headers: {} }
  const storedHeaders = new Map(
    Object.entries(stored.headers).map(([name, value]) => [name.toLowerCase(), value]),
  )
  const isSameOrigin =
    before?.definition.kind === 'http' && new URL(before.definition.url).origin === new URL(url).origin
  const keep = (given: string, held: string | undefined, at: string): string => {
    if (given !== KEPT_SECRET) return given
    if (held !== undefined && isSameOrigin) return held
    problems.push(
      `definition.${at}: ${held === undefined ? 'has no value that could be kept' : 'must be given again, because the host changed'}`,
    )
    return ''
  }
  return {
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        keep(value, storedHeaders.get(name.toLowerCase()), `headers.${name}`),
      ]),
    ),
    ...(body !== undefined && { body: keep(body, stored.body, 'body') }),
  }
}

export const openSecrets = (
  dataKeys: DataKeys,
  key: CheckKey,
  { sealedSecrets }: Pick<StoredDefinition, 'sealedSecrets'>,
): CheckSecrets =>
  sealedSecrets === null
    ? { headers: {} }
    : (JSON.parse(dataKeys.open(placeOf(key), sealedSecrets)) as CheckSecrets)

/** For whoever may not change the check: a query often carries a key. */
export function withoutQuery(definition: CheckDefinition): CheckDefinition {
  if (definition.kind !== 'http') return definition
  const [address, query] = definition.url.split(/\?(.*)/s)
  // What stands for it may be longer than it was.
  return query ? { ...definition, url: `${address}?${KEPT_SECRET}`.slice(0, CHECK_URL_MAX) } : definition
}
