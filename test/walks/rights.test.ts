/**
 * Rights only shrink: whatever somebody does to people, roles, parts in apps, settings or credentials, what a credential may
 * do stays within what it stored at birth, and what takes something from anybody gives nothing to anybody.
 */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { changeMemberRole } from '../../src/contracts/members.ts'
import { GRANTABLE_ROLES } from '../../src/contracts/roles.ts'
import { ABOUT_RIGHTS, isWithinBirth, makeRightsWorld, rightsOf, walkRights } from '../support/rights.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
})
afterAll(() => system.stop())

/** On a busy machine. */
const LONG = 120_000

/** Of members and their parts; test/long/rights.test.ts goes through everything. */
const OPERATIONS = ABOUT_RIGHTS.filter(({ path }) => /\/members|\/access\//.test(path))

test(
  'every operation about members',
  async () => {
    const world = await makeRightsWorld(system, ['developer'])
    const problems: string[] = []
    const walked = await walkRights(system, world, OPERATIONS, { seed: 28, each: 2 }, (each) =>
      problems.push(each),
    )
    expect(problems).toEqual([])
    // It went through something.
    expect(OPERATIONS.length).toBeGreaterThan(4)
    expect(walked.took).toBeGreaterThan(0)
  },
  LONG,
)

test(
  'every role for somebody, up and down',
  async () => {
    const world = await makeRightsWorld(system, ['developer'])
    const [user_id] = world.known['user_id'] as string[]
    for (const role of [...GRANTABLE_ROLES, ...GRANTABLE_ROLES.toReversed()]) {
      await world.org.owner.call(changeMemberRole, { org_id: world.org.id, user_id: user_id!, role })
      for (const one of world.held) {
        const above = [...(await rightsOf(system, world, one))].filter((right) => !isWithinBirth(one, right))
        expect([role, one.name, above]).toEqual([role, one.name, []])
      }
    }
  },
  LONG,
)

test(
  'a rotation gives the new value exactly what the old one may do, and both of them no more',
  async () => {
    const world = await makeRightsWorld(system, ['developer'])
    const rotated = world.held.filter(({ rotate }) => rotate)
    expect(new Set(rotated.map(({ kind }) => kind))).toEqual(new Set(['api_token', 'app_token']))
    for (const one of rotated) {
      const before = await rightsOf(system, world, one)
      const value = await one.rotate!()
      expect([one.name, await rightsOf(system, world, { ...one, token: async () => value })]).toEqual([
        one.name,
        before,
      ])
      expect(await rightsOf(system, world, one)).toEqual(before)
      expect([...before].filter((right) => !isWithinBirth(one, right))).toEqual([])
      expect(before.size).toBeGreaterThan(0)
    }
  },
  LONG,
)
