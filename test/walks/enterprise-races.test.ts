/** Exchanges at once, and changes of the organization in the middle of one. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { and, eq } from '../../db/drizzle.ts'
import {
  auditLog,
  memberships,
  organizationDomains,
  organizationIdentityProviders,
  users,
} from '../../db/schema.ts'
import {
  forbidIdentityProviderClient,
  linkIdentity,
  setIdentityProviderRules,
  unlinkIdentity,
  updateIdentityProvider,
} from '../../src/contracts/identity-provider.ts'
import { removeMember } from '../../src/contracts/members.ts'
import type { GuardedFetch } from '../../src/cores/dependencies.ts'
import { endLinksAboveMakers } from '../../src/cores/organizations/index.ts'
import { withTransaction } from '../../src/cores/transaction.ts'
import { startListeningSystem, whoami, type ListeningSystem } from '../support/assistant.ts'
import { openDocumentHost, type DocumentHost } from '../support/document-host.ts'
import {
  claimsIn,
  clientWithSecret,
  company,
  exchange,
  grantsBy,
  linksOf,
  setProvider,
  tokenIn,
  usesOf,
  type Company,
} from '../support/enterprise.ts'
import { makeMember, unique } from '../support/make.ts'
import { makeIssuer } from '../support/issuer.ts'
import { untilLocked } from '../support/statements.ts'

let host: DocumentHost
let system: ListeningSystem
let ours: Company
/** Called in the middle of an exchange, when it asks for keys: rules, client and link are read, nothing is stored yet. */
let inTheMiddle: (() => Promise<unknown>) | undefined
beforeAll(async () => {
  host = await openDocumentHost()
  const guardedFetch: GuardedFetch = async (...asked) => {
    const answer = await host.guardedFetch(...asked)
    const meanwhile = inTheMiddle
    inTheMiddle = undefined
    await meanwhile?.()
    return answer
  }
  system = await startListeningSystem({}, { guardedFetch })
})
beforeEach(async () => {
  ours = await company(system, await makeIssuer(system, host))
})
afterAll(async () => {
  await system.stop()
  host.close()
})

const swap = (claims = {}) => ours.assertion(claims).then((one) => exchange(system, ours.client, one))
const owner = () => ours.org.owner
const times = <T>(count: number, work: () => Promise<T>) => Promise.all(Array.from({ length: count }, work))

test('26: twenty at once with one assertion: one use, one grant, one row in the audit trail', async () => {
  // Its keys are known: nothing keeps them apart.
  tokenIn(await swap({ scope: undefined, resource: `${system.origin}/notifications` }))
  const assertion = await ours.assertion()
  const answers = await times(20, () => exchange(system, ours.client, assertion))
  const grants = new Set(answers.map((answer) => claimsIn(tokenIn(answer)).grant_id))
  expect(grants.size).toBe(1)
  expect(await usesOf(system, ours.providerId)).toHaveLength(2)
  expect(await grantsBy(system, ours.providerId)).toHaveLength(2)
  const made = await system.db
    .select()
    .from(auditLog)
    .where(and(eq(auditLog.orgId, ours.org.id), eq(auditLog.action, 'grant.created')))
  expect(made).toHaveLength(2)
})

test('26: twenty at once with one assertion, of which only one client is the right one', async () => {
  const other = await clientWithSecret(system)
  const assertion = await ours.assertion()
  const answers = await Promise.all([
    ...Array.from({ length: 10 }, () => exchange(system, other, assertion)),
    ...Array.from({ length: 10 }, () => exchange(system, ours.client, assertion)),
  ])
  expect(answers.map(({ status }) => status === 200)).toEqual([
    ...Array.from({ length: 10 }, () => false),
    ...Array.from({ length: 10 }, () => true),
  ])
})

test('twenty assertions at once for one person: one grant, twenty uses, every token is good', async () => {
  const answers = await times(20, () => swap())
  const tokens = answers.map(tokenIn)
  expect(new Set(tokens.map((token) => claimsIn(token).grant_id)).size).toBe(1)
  expect(await grantsBy(system, ours.providerId)).toHaveLength(1)
  const uses = await usesOf(system, ours.providerId)
  expect(uses).toHaveLength(20)
  expect(new Set(uses.map(({ grantId }) => grantId)).size).toBe(1)
  for (const token of tokens.slice(0, 3)) expect((await whoami(system, token)).status).toBe(200)
})

test('ten assertions at once for somebody new: one account, one link', async () => {
  const domain = `${unique('company')}.test`
  await system.db.insert(organizationDomains).values({ domain, orgId: ours.org.id })
  await setProvider(system, ours.providerId, { linking: 'domain' })
  const claims = { sub: unique('new'), email: `new@${domain}`, email_verified: true }
  const answers = await times(10, () => swap(claims))
  expect(new Set(answers.map((answer) => claimsIn(tokenIn(answer)).sub)).size).toBe(1)
  expect(await system.db.select().from(users).where(eq(users.email, claims.email))).toHaveLength(1)
})

describe('in the middle of an exchange', () => {
  const changes: Record<string, () => Promise<unknown>> = {
    'the member is removed': () =>
      owner().call(removeMember, { org_id: ours.org.id, user_id: ours.person.userId }),
    'the provider is paused': () => owner().call(updateIdentityProvider, { state: 'paused' }),
    'the client is forbidden': () =>
      owner().call(forbidIdentityProviderClient, { client_id: ours.client.clientId }),
    'the person is unlinked': () => owner().call(unlinkIdentity, { link_id: ours.linkId }),
  }
  test.each(Object.keys(changes))('%s: there is no token, and nothing is kept', async (how) => {
    inTheMiddle = changes[how]!
    const { status, body } = await swap()
    expect(inTheMiddle).toBeUndefined()
    expect([status, body.access_token]).toEqual([400, undefined])
    expect(await usesOf(system, ours.providerId)).toEqual([])
    expect(await grantsBy(system, ours.providerId)).toEqual([])
  })

  test('rules are narrowed: they apply', async () => {
    inTheMiddle = () =>
      owner().call(setIdentityProviderRules, { rules: [{ claim: null, value: null, scopes: ['data:read'] }] })
    expect((await swap()).body.scope).toBe('data:read')
    expect((await grantsBy(system, ours.providerId)).map(({ scopes }) => scopes)).toEqual([['data:read']])
  })
})

/** A change that has begun and not yet ended holds the row of its provider. */
test('a change under way is waited for, and what it leaves applies', async () => {
  tokenIn(await swap())
  let answer: ReturnType<typeof swap> | undefined
  await system.db.transaction(async (tx) => {
    const row = eq(organizationIdentityProviders.id, ours.providerId)
    await tx.update(organizationIdentityProviders).set({ state: 'paused' }).where(row)
    answer = swap()
    await untilLocked(system.db, 1)
  })
  expect((await answer!).body.error).toBe('invalid_grant')
})

test('somebody rises while whoever linked them is removed: neither misses the other, and the link ends', async () => {
  const maker = await makeMember(system, ours.org, 'admin')
  const [orgId, { userId }] = [ours.org.id, ours.person]
  await maker.call(linkIdentity, { subject: unique('of-the-maker'), user_id: userId })
  let removed: Promise<unknown> | undefined
  await withTransaction(system.db, async (tx) => {
    const isTheirs = and(eq(memberships.orgId, orgId), eq(memberships.userId, userId))
    await tx.update(memberships).set({ role: 'admin' }).where(isTheirs)
    const actor = { kind: 'anonymous' as const, userId: null, userName: 'svc', requestId: 'test' }
    await endLinksAboveMakers(tx, () => system.clock.now(), actor, { orgId, userIds: [userId] })
    removed = owner().call(removeMember, { org_id: orgId, user_id: maker.userId })
    await untilLocked(system.db, 1)
  })
  await removed
  expect((await linksOf(system, ours.providerId)).map(({ id }) => id)).toEqual([ours.linkId])
})
