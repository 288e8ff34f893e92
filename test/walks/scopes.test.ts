/** Who is let in where: every operation of the table, with every kind of credential, at both doors. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Service } from '../../src/client/service.ts'
import type { Operation } from '../../src/contracts/operation.ts'
import { OPERATIONS } from '../../src/contracts/operations.ts'
import { atLeast, ROLES, type Role } from '../../src/contracts/roles.ts'
import { actorOf, signActor } from '../support/actor.ts'
import { forgeries } from '../support/forge.ts'
import { knock } from '../support/knock.ts'
import { makeApiToken, makeMember, makeOrganization, makePerson, type Org } from '../support/make.ts'
import { OPERATOR_TOKEN, startSystem, type TestSystem } from '../support/system.ts'

/** One of each kind; bad-input.test.ts tells all the lies there are. */
const LIES = [
  'an API token nobody made',
  'a cut user token',
  'an expired user token',
  'a user token under another secret',
  'an expired assertion',
]

/** Let in and told about the input; see knock.ts. */
const OPEN = 'INVALID_REQUEST'

const DOORS_ONLY = { SVC_SERVICES: 'api-gateway,auth-service' }

let system: TestSystem
let org: Org
let tokens: Record<'scoped' | 'otherScope' | 'unscoped' | 'agentsOnly' | 'person' | 'homeless', string>
let assertion: () => Promise<string>
let forged: Record<string, string>
let byRole: Record<Role, string>
let stranger: { person: string; token: string }

beforeAll(async () => {
  system = await startSystem(DOORS_ONLY)
  org = await makeOrganization(system)
  const other = await makeOrganization(system)
  const make = (asked?: object) => makeApiToken(system, org, org.owner, asked)
  const scoped = await make({ scopes: ['data:read'] })
  const unscoped = await make()
  tokens = {
    scoped: scoped.token,
    otherScope: (await make({ scopes: ['notifications:read'] })).token,
    unscoped: unscoped.token,
    agentsOnly: (await make({ audiences: ['platform', 'notifications'] })).token,
    person: org.owner.token,
    homeless: (await makePerson(system)).token,
  }
  // Good for a minute only, so every knock gets a fresh one.
  assertion = () => signActor(system, actorOf(org, org.owner, unscoped.id))
  const otherToken = await makeApiToken(system, other, other.owner)
  stranger = { person: other.owner.token, token: otherToken.token }
  forged = await forgeries(
    system,
    { org, person: org.owner, apiToken: unscoped },
    { org: other, person: other.owner, apiToken: otherToken },
  )
  byRole = Object.fromEntries(
    await Promise.all(ROLES.map(async (role) => [role, (await makeMember(system, org, role)).token])),
  ) as Record<Role, string>
})

afterAll(() => system.stop())

/** The gateway relays what belongs to the auth service, which can also be asked directly. */
const DOORS: Record<string, (op: Operation) => Service | undefined> = {
  gateway: () => system.service,
  'auth service': (op) =>
    system.system.services.get(op.service === 'auth-service' ? 'auth-service' : 'api-gateway'),
}

const opensTo = (op: Operation, scope: string): boolean => op.scope === 'any' || op.scope === scope

for (const [door, serviceOf] of Object.entries(DOORS)) {
  describe.each(OPERATIONS.map((op): [string, Operation] => [op.name, op]))(
    `%s at the ${door}`,
    (_name, op) => {
      const ask = (token: string | undefined) => knock(serviceOf(op)!, op, { token, orgId: org.id })
      const closed = op.who === 'operator' ? 'FORBIDDEN' : OPEN

      test('without a credential, and with any that is not ours', async () => {
        const expected = op.who === 'anyone' ? OPEN : 'UNAUTHENTICATED'
        expect(await ask(undefined)).toBe(expected)
        for (const lie of LIES) expect([lie, await ask(forged[lie])]).toEqual([lie, expected])
      })

      test('with a token that carries scopes, and with an assertion', async () => {
        const through = (scope: string) =>
          op.who === 'anyone' || (closed === OPEN && opensTo(op, scope)) ? OPEN : 'FORBIDDEN'
        expect(await ask(tokens.scoped)).toBe(through('data:read'))
        expect(await ask(await assertion())).toBe(through('data:read'))
        expect(await ask(tokens.otherScope)).toBe(through('notifications:read'))
      })

      test('with an unscoped token of the owner, and as the owner', async () => {
        expect(await ask(tokens.unscoped)).toBe(closed)
        expect(await ask(tokens.person)).toBe(closed)
      })

      test('with a token that is for the MCP endpoints only', async () => {
        expect(await ask(tokens.agentsOnly)).toBe(op.who === 'anyone' ? OPEN : 'UNAUTHENTICATED')
      })

      test('with the operator’s token', async () => {
        expect(await ask(OPERATOR_TOKEN)).toBe(
          ['operator', 'anyone'].includes(op.who) ? OPEN : 'UNAUTHENTICATED',
        )
      })

      test('with each role', async () => {
        for (const role of ROLES) {
          const enough = !isRole(op.who) || atLeast(role, op.who)
          expect([role, await ask(byRole[role])]).toEqual([role, enough ? closed : 'FORBIDDEN'])
        }
      })

      test('as somebody without an organization, and as a member of another one', async () => {
        const hidden = op.http.path.includes('{org_id}') ? 'NOT_FOUND' : undefined
        const outside = isRole(op.who) ? hidden : closed
        expect(await ask(tokens.homeless)).toBe(outside ?? 'FORBIDDEN')
        expect(await ask(stranger.person)).toBe(outside ?? closed)
        expect(await ask(stranger.token)).toBe(outside ?? closed)
      })
    },
  )
}

const isRole = (who: Operation['who']): who is Role => (ROLES as readonly string[]).includes(who)

test('without an operator’s token in the configuration nobody is the operator', async () => {
  const closedSystem = await startSystem({ ...DOORS_ONLY, SVC_OPERATOR_TOKEN: '' })
  for (const op of OPERATIONS.filter(({ who }) => who === 'operator')) {
    expect(await knock(closedSystem.service, op, { token: OPERATOR_TOKEN, orgId: org.id })).toBe(
      'UNAUTHENTICATED',
    )
  }
  await closedSystem.stop()
})
