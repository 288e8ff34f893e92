/** Replaces the rules. Which claims somebody came in with is not kept, so every agent comes in anew. */
import { isDeepStrictEqual } from 'node:util'
import { eq } from '../../../db/drizzle.ts'
import { identityProviderRules } from '../../../db/schema.ts'
import { listVisibleSources } from '../grants/index.ts'
import { write, type Verb } from '../verb.ts'
import { andEnded, endGrantsOf, lockProvider } from './provider-rows.ts'
import { findRules, presentRule, readRules } from './provider-rules.ts'
import { requireOwnerForSensitive } from './require-owner-for-sensitive.ts'

export const setIdentityProviderRules: Verb<'setIdentityProviderRules'> = write(
  { author: 'admin', audit: 'identity_provider.rules_set' },
  async ({ tx, clock, member, orgId, audit }, input) => {
    // Also where one was there before: what stands above it decides whom it gives them to.
    requireOwnerForSensitive(
      member,
      input.rules.flatMap(({ scopes }) => scopes),
    )
    const provider = await lockProvider(tx, orgId)
    const known = await listVisibleSources(tx, member)
    const rules = readRules(input.rules, known).map((rule, index) => ({ ...rule, position: index + 1 }))
    const before = await findRules(tx, provider.id)
    const after = rules.map((rule) => ({ providerId: provider.id, ...rule }))
    const shown = { rules: rules.map((rule) => presentRule(rule, known)) }
    if (isDeepStrictEqual(before.map(comparable), after.map(comparable))) return shown
    await tx.delete(identityProviderRules).where(eq(identityProviderRules.providerId, provider.id))
    if (after.length > 0) {
      await tx.insert(identityProviderRules).values(
        after.map((rule) => ({
          ...rule,
          scopes: [...rule.scopes],
          sources: rule.sources && [...rule.sources],
        })),
      )
    }
    const ended = await endGrantsOf(tx, clock, provider, 'rules_changed')
    await audit(
      'identity_provider.rules_set',
      andEnded(after.length === 1 ? '1 rule' : `${after.length} rules`, ended),
    )
    return shown
  },
)

const comparable = (rule: {
  readonly claim: string | null
  readonly value: string | null
  readonly scopes: readonly string[]
  readonly sources: readonly string[] | null
}) => [rule.claim, rule.value, rule.scopes.toSorted(), rule.sources?.toSorted() ?? null]
