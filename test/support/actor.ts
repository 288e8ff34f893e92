/** Plays the MCP server: signs what it would tell the gateway about an agent that came with an API token. */
import type { Scope } from '../../src/contracts/scopes.ts'
import { actorAssertions, type Actor } from '../../src/trust/actor-assertion.ts'
import type { Org, Person } from './make.ts'
import type { TestSystem } from './system.ts'

export const actorOf = (
  org: Org,
  person: Person,
  tokenId: string,
  scopes: readonly Scope[] = ['data:read'],
): Actor => ({
  userId: person.userId,
  orgId: org.id,
  known: { email: person.email, name: person.name, orgName: org.name, orgSlug: org.slug, role: 'owner' },
  scopes,
  tokenId,
})

/** Signed with the secret and the clock of this very system. */
export function signActor({ system, clock }: TestSystem, actor: Actor): Promise<string> {
  const { ACTOR_ASSERTION_SECRET = '', AUTH_URL } = system.config
  return actorAssertions(ACTOR_ASSERTION_SECRET, AUTH_URL.origin).sign(actor, clock.now())
}
