/** The rules of an identity provider, with their data sources as the API names them. */
import type { Handle } from '../../../db/connect.ts'
import { eq } from '../../../db/drizzle.ts'
import { identityProviderRules } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { Scope } from '../../contracts/scopes.ts'
import { sourceIdOf } from '../databases/index.ts'
import { presentGrantedSources, type KnownSource } from '../grants/index.ts'
import type { Rule } from './rights.ts'

/** From 1, as people count. */
export const findRules = (db: Handle, providerId: string) =>
  db
    .select()
    .from(identityProviderRules)
    .where(eq(identityProviderRules.providerId, providerId))
    .orderBy(identityProviderRules.position)

export const presentRule = (rule: Rule & { readonly position: number }, known: readonly KnownSource[]) => ({
  position: rule.position,
  claim: rule.claim,
  value: rule.value,
  scopes: [...rule.scopes],
  sources: presentGrantedSources(rule.sources, known),
})

type Given = {
  readonly claim: string | null
  readonly value: string | null
  readonly scopes: readonly Scope[]
  readonly sources: readonly string[] | null
}

/** With the ids of their data sources. Unknown ones are a mistake, which would otherwise give less than it says. */
export function readRules(given: readonly Given[], known: readonly KnownSource[]): Rule[] {
  const problems: string[] = []
  const rules = given.map(({ claim, value, scopes, sources }, index) => ({
    claim,
    value,
    scopes: [...new Set(scopes)],
    sources:
      sources &&
      [...new Set(sources)].flatMap((name) => {
        const source = known.find((one) => one.id === name || sourceIdOf(one.name) === name)
        if (!source) problems.push(`rules.${index}.sources: ${name} is not a data source of the organization`)
        return source ? [source.id] : []
      }),
  }))
  if (problems.length > 0) throw new ServiceError('INVALID_REQUEST', undefined, { problems })
  return rules
}
