/** Who is let in where: every operation of the table, with every kind of credential. */
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import type { Service } from '../../src/client/service.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { createAppToken } from '../../src/contracts/app-tokens.ts'
import { createApp } from '../../src/contracts/apps.ts'
import { ROLES } from '../../src/contracts/roles.ts'
import { APP_SCOPES } from '../../src/contracts/scopes.ts'
import {
  apiToken,
  appToken,
  expectedCode,
  member,
  nobody,
  OPEN,
  operatorOnly,
  outside,
  withRole,
  withScope,
  type Rule,
} from '../support/access-rules.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { forgeries } from '../support/forge.ts'
import { requestWithInvalidInput } from '../support/invalid-request.ts'
import { makeApiToken, makeMember, makeOrganization, makePerson, unique, type Org } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

const API_ONLY = { SVC_SERVICES: 'api-gateway,auth-service,deploy-api' }

let system: TestSystem
let org: Org
/** Everything anybody might come with, by the words of the table below. */
let bearers: Record<string, string | (() => Promise<string>) | undefined>

beforeAll(async () => {
  system = await startSystem(API_ONLY)
  org = await makeOrganization(system)
  const other = await makeOrganization(system)
  const make = (asked?: object) => makeApiToken(system, org, org.owner, asked)
  const [unscoped, foreign] = [await make(), await makeApiToken(system, other, other.owner)]
  const forged = await forgeries(
    system,
    { org, person: org.owner, apiToken: unscoped },
    { org: other, person: other.owner, apiToken: foreign },
  )
  const byRole = ROLES.map(async (role) => [`the role ${role}`, (await makeMember(system, org, role)).token])
  bearers = {
    'nobody at all': undefined,
    ...forged,
    ...Object.fromEntries(await Promise.all(byRole)),
    'a data:read token': (await make({ scopes: ['data:read'] })).token,
    'a notifications:read token': (await make({ scopes: ['notifications:read'] })).token,
    // Valid for a minute only, so every request gets a fresh one.
    'a data:read assertion': () => signActor(system, actorOf(org, org.owner, unscoped.id)),
    'an unscoped token': unscoped.token,
    ...(await appTokensOf(org)),
    'a token for the MCP endpoints': (await make({ audiences: ['platform', 'notifications'] })).token,
    'the operator’s token': OPERATOR_TOKEN,
    'the owner': org.owner.token,
    'somebody without an organization': (await makePerson(system)).token,
    'a member of another organization': other.owner.token,
    'a token of another organization': foreign.token,
  }
})

async function appTokensOf({ owner: { call } }: Org): Promise<Record<string, string>> {
  const alias = unique('shop')
  await call(createApp, { alias, name: 'Shop' })
  const made = APP_SCOPES.map(async (scope) => {
    const { token } = await call(createAppToken, { alias, name: scope, scope })
    return [`an ${scope} token of an app`, token] as const
  })
  return Object.fromEntries(await Promise.all(made))
}

afterAll(() => system.stop())

const isHosted = inject('auth') === 'hosted'
/** With hosted auth, whoever belongs to none of the organizations that are served may only get in and out. */
const isOpenToAccounts = ({ name }: Operation): boolean =>
  // Walks found organizations at the vendor's: see hosted-system.ts.
  ['acceptInvitation', 'createOrganization', 'listMySupportSessions', 'signOut'].includes(name)
const notServed: Rule = (op) => (isOpenToAccounts(op) ? OPEN : 'FORBIDDEN')
/** The vendor knows nothing of our assertions, and answers for these alone. */
const atTheVendor =
  (rule: Rule): Rule =>
  (op) =>
    (op.access === 'operator' && op.service === 'auth-service') || isOpenToAccounts(op)
      ? 'UNAUTHENTICATED'
      : rule(op)

/** One of each kind of lie; bad-input.test.ts tells all there are. The first eight are sent to both services. */
const WHO: readonly [who: string, rule: Rule][] = [
  ['nobody at all', nobody],
  ['a user token under another secret', nobody],
  ['a data:read token', withScope('data:read')],
  ['a data:read assertion', isHosted ? atTheVendor(withScope('data:read')) : withScope('data:read')],
  ['an unscoped token', apiToken],
  ['an apps:report token of an app', appToken('apps:report')],
  ['an apps:run token of an app', appToken('apps:run')],
  ['the operator’s token', operatorOnly],
  ['an API token nobody made', nobody],
  ['a cut user token', nobody],
  ['an expired user token', nobody],
  ['an expired assertion', nobody],
  ['a token for the MCP endpoints', nobody],
  ['a notifications:read token', withScope('notifications:read')],
  ['the owner', member],
  ...ROLES.map((role): [string, Rule] => [`the role ${role}`, withRole(role)]),
  ['somebody without an organization', isHosted ? notServed : outside(() => 'FORBIDDEN')],
  ['a member of another organization', outside(member)],
  ['a token of another organization', outside(member, apiToken)],
]

async function expectRules(service: Service, op: Operation, asked: typeof WHO): Promise<void> {
  for (const [who, rule] of asked) {
    expect(Object.keys(bearers)).toContain(who)
    const bearer = bearers[who]
    const token = typeof bearer === 'function' ? await bearer() : bearer
    const code = await requestWithInvalidInput(service, op, { token, orgId: org.id })
    // The vendor's, who does not know it even where nobody need say who they are.
    const isUnknown =
      isHosted && who === 'the operator’s token' && op.access === 'anyone' && op.service === 'auth-service'
    expect(`${who}: ${code}`).toBe(`${who}: ${isUnknown ? 'UNAUTHENTICATED' : expectedCode(op, rule)}`)
  }
}

describe.each(OPERATIONS.map((op): [string, Operation] => [op.name, op]))('%s', (_name, op) => {
  test('lets in at the gateway whom it should, and nobody else', () => expectRules(system.service, op, WHO))

  // It was asked directly just now.
  test.skipIf(op.service === 'api-gateway')('and so does its own service when it is asked directly', () =>
    expectRules(system.system.services.get(op.service)!, op, WHO.slice(0, 8)),
  )
})

test('without an operator’s token in the configuration nobody is the operator', async () => {
  const closed = await startSystem({ ...API_ONLY, SVC_OPERATOR_TOKEN: '' })
  for (const op of OPERATIONS.filter(({ access }) => access === 'operator')) {
    expect(await requestWithInvalidInput(closed.service, op, { token: OPERATOR_TOKEN, orgId: org.id })).toBe(
      'UNAUTHENTICATED',
    )
  }
  await closed.stop()
})
