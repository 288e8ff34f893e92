/** What a member would get with a client and some claims: by the same function as the exchange. */
import { and, eq } from '../../../db/drizzle.ts'
import { memberships } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { RefusalReason } from '../../contracts/identity-provider-states.ts'
import { listVisibleSources, presentGrantedSources } from '../grants/index.ts'
import { read, type Verb } from '../verb.ts'
import { findClients } from './allowed-clients.ts'
import { findProvider } from './provider-rows.ts'
import { findRules, readRules } from './provider-rules.ts'
import { rightsOf } from './rights.ts'

export const previewIdentityProviderRules: Verb<'previewIdentityProviderRules'> = read(
  async ({ db, member, orgId }, { user_id, client_id, resource, claims, scopes, rules: unsaved }) => {
    const provider = await findProvider(db, orgId)
    const [person] = await db
      .select({ role: memberships.role })
      .from(memberships)
      .where(and(eq(memberships.orgId, orgId), eq(memberships.userId, user_id)))
    if (!person) throw notFound()
    const known = await listVisibleSources(db, member)
    const rules = unsaved ? readRules(unsaved, known) : await findRules(db, provider.id)
    const [allowed] = await findClients(db, provider.id, { clientId: client_id })
    const nothing = { role: person.role, position: null, scopes: [], sources: null }
    if (!allowed) return { ...nothing, refusal: 'client_not_allowed' }
    if (!allowed.client.resources.includes(resource)) return { ...nothing, refusal: 'resource' }
    const { defaultScopes } = provider
    const { maxScopes } = allowed.client
    const rights = rightsOf(
      { rules, defaultScopes, maxScopes },
      { role: person.role, resource, claims, claimed: scopes, requested: undefined },
    )
    const isRefusedByRule = rights.rule !== null && rules[rights.rule]!.scopes.length === 0
    const empty: RefusalReason = isRefusedByRule ? 'rule' : 'scope'
    return {
      role: person.role,
      refusal: rights.scopes.length === 0 ? empty : null,
      position: rights.rule === null ? null : rights.rule + 1,
      scopes: [...rights.scopes],
      sources: presentGrantedSources(rights.sources, known),
    }
  },
)
