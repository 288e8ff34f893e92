/** Apps and who stands on them: made by developers, kept by their maintainers, ended with the membership. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { appMembers } from '../../db/schema.ts'
import {
  createApp,
  listApps,
  removeAppMember,
  renameApp,
  setAppMember,
  showApp,
} from '../../src/contracts/apps.ts'
import { removeMember } from '../../src/contracts/members.ts'
import { createTicket, changeTicketStatus } from '../../src/contracts/tickets.ts'
import { findApp, findAppRole } from '../../src/cores/apps/index.ts'
import type { Ending } from '../../src/cores/endings/index.ts'
import type { MemberPrincipal } from '../../src/cores/principal.ts'
import { addEndingKeeper } from '../../src/cores/record-ending.ts'
import { makeApiToken, makeMember, makeOrganization, unique, type Org, type Person } from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

let system: TestSystem
let org: Org
let other: Org
let developer: Person
let viewer: Person
/** Of the app of one test, which the developer made. */
let alias: string

beforeAll(async () => {
  system = await startSystem({ SVC_SERVICES: 'api-gateway,auth-service,deploy-api' })
  ;[org, other] = [await makeOrganization(system), await makeOrganization(system)]
  ;[developer, viewer] = [await makeMember(system, org, 'developer'), await makeMember(system, org, 'viewer')]
})

beforeEach(async () => {
  alias = unique('shop')
  await developer.call(createApp, { alias, name: 'The shop' })
})

afterAll(() => system.stop())

const on = async () =>
  (await org.owner.call(showApp, { alias })).members.map(({ user_id, role }) => [user_id, role])
const put = (by: Person, who: Person, role: 'builder' | 'maintainer') =>
  by.call(setAppMember, { alias, user_id: who.userId, role })
const part = async (who: Person, { id } = org) => {
  const { db, directory } = system.system.gateway!
  const app = await findApp(db, id, alias)
  const { userId } = who
  const [member] = (await directory.readMembers(db, [{ orgId: id, userId }])).values()
  if (!app || !member) return null
  const principal = { orgId: id, userId, role: member.role, carriesAppRoles: true } as MemberPrincipal
  return findAppRole(directory, db, principal, app.id)
}

test('whoever makes an app maintains it; owners and admins administer every one', async () => {
  expect(await on()).toEqual([[developer.userId, 'maintainer']])
  const admin = await makeMember(system, org, 'admin')
  const seen = await Promise.all(
    [developer, viewer, admin, org.owner].map(({ call }) => call(showApp, { alias })),
  )
  expect(seen.map(({ my_role }) => my_role)).toEqual(['maintainer', null, 'administrator', 'administrator'])
  expect([await part(developer), await part(viewer), await part(admin)]).toEqual([
    'maintainer',
    null,
    'administrator',
  ])
})

test('an alias is taken once in an organization, and free in the next', async () => {
  await expect(org.owner.call(createApp, { alias, name: 'Another' })).rejects.toMatchObject({
    code: 'CONFLICT',
  })
  await other.owner.call(createApp, { alias, name: 'Theirs' })
  expect((await org.owner.call(showApp, { alias })).name).toBe('The shop')
  expect((await other.owner.call(showApp, { alias })).name).toBe('Theirs')
})

test('another organization sees nothing of it and is not notified of it', async () => {
  expect((await other.owner.call(listApps, { search: alias })).apps).toEqual([])
  for (const attempt of [
    () => other.owner.call(showApp, { alias }),
    () => other.owner.call(renameApp, { alias, name: 'Mine' }),
    () => other.owner.call(setAppMember, { alias, user_id: other.owner.userId, role: 'builder' }),
    () => other.owner.call(removeAppMember, { alias, user_id: developer.userId }),
  ]) {
    await expect(attempt()).rejects.toMatchObject({ code: 'NOT_FOUND' })
  }
  expect(await part(other.owner)).toBeNull()
})

test('lists by alias, by part of alias or name, and one’s own', async () => {
  const [word, second] = [unique('word'), unique('billing')]
  await org.owner.call(createApp, { alias: second, name: `Invoices 100% ${word}` })
  await developer.call(renameApp, { alias, name: `The ${word} shop` })
  const found = async (who: Person, asked: { search?: string; mine?: 'true' }) =>
    (await who.call(listApps, { limit: 200, ...asked })).apps.map((app) => app.alias)
  expect(await found(viewer, { search: word.toUpperCase() })).toEqual([second, alias])
  expect(await found(viewer, { search: alias.slice(2) })).toEqual([alias])
  expect(await found(viewer, { search: '0%' })).toEqual([second])
  expect(await found(viewer, { search: '_' })).toEqual([])
  expect(await found(developer, { mine: 'true', search: word })).toEqual([alias])
  expect(await found(viewer, { mine: 'true' })).toEqual([])
})

describe('who may change it', () => {
  test('its maintainers, owners and admins rename it and choose who is on it; nobody else', async () => {
    await put(developer, viewer, 'builder')
    const builder = viewer
    const outsider = await makeMember(system, org, 'developer')
    for (const { call } of [builder, outsider]) {
      await expect(call(renameApp, { alias, name: 'Mine' })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      })
      await expect(
        call(setAppMember, { alias, user_id: outsider.userId, role: 'builder' }),
      ).rejects.toMatchObject({ code: 'FORBIDDEN' })
      await expect(call(removeAppMember, { alias, user_id: developer.userId })).rejects.toMatchObject({
        code: 'FORBIDDEN',
      })
    }
    expect((await developer.call(renameApp, { alias, name: 'Renamed' })).name).toBe('Renamed')
    await put(org.owner, builder, 'maintainer')
    expect((await builder.call(renameApp, { alias, name: 'Again' })).name).toBe('Again')
  })

  test('everybody takes themselves off', async () => {
    const kept: Ending[] = []
    const leave = addEndingKeeper(system.ownDb, {
      async committing(endings) {
        kept.push(...endings)
        return async () => {}
      },
    })
    await put(developer, viewer, 'builder')
    await viewer.call(removeAppMember, { alias, user_id: viewer.userId })
    leave()
    // Only what was taken is taken again from a database that has lost it.
    expect(kept.map(({ kind, to }) => [kind, to?.['role']])).toEqual([['app_member', null]])
    expect(await on()).toEqual([[developer.userId, 'maintainer']])
    await expect(viewer.call(removeAppMember, { alias, user_id: viewer.userId })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
  })

  test('only members of the organization can be put on it', async () => {
    await expect(put(developer, other.owner, 'builder')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(await on()).toEqual([[developer.userId, 'maintainer']])
  })

  test('a token that is capped below its person administers nothing', async () => {
    const capped = await makeApiToken(system, org, org.owner, { role_cap: 'developer' })
    expect((await capped.call(showApp, { alias })).my_role).toBeNull()
    await expect(capped.call(renameApp, { alias, name: 'Mine' })).rejects.toMatchObject({
      code: 'FORBIDDEN',
    })
  })
})

test('leaving or being removed ends every part at once, and coming back does not bring it back', async () => {
  const [leaver, removed] = [
    await makeMember(system, org, 'viewer'),
    await makeMember(system, org, 'developer'),
  ]
  for (const person of [leaver, removed]) await put(developer, person, 'maintainer')
  await leaver.call(removeMember, { org_id: org.id, user_id: leaver.userId })
  await org.owner.call(removeMember, { org_id: org.id, user_id: removed.userId })
  for (const person of [leaver, removed]) {
    expect(await part(person)).toBeNull()
    await makeMember(system, org, 'developer', person)
    expect(await part(person)).toBeNull()
  }
  expect(await on()).toEqual([[developer.userId, 'maintainer']])
})

/** Rows that a crash or a later release might leave behind must not count. */
test('a part without a membership is none', async () => {
  const app = await findApp(system.db, org.id, alias)
  await system.db.insert(appMembers).values({
    orgId: org.id,
    appId: app!.id,
    userId: other.owner.userId,
    membershipId: 'mem_ended',
    role: 'maintainer',
    addedAt: system.clock.now(),
  })
  expect(await part(other.owner)).toBeNull()
  expect(await on()).toEqual([[developer.userId, 'maintainer']])
})

test('open tickets are counted as far as one may see them', async () => {
  const [first] = [
    await viewer.call(createTicket, { alias, title: unique('mine'), body: 'x' }),
    await org.owner.call(createTicket, { alias, title: unique('theirs'), body: 'x' }),
    await org.owner.call(createTicket, { alias, title: unique('theirs'), body: 'x' }),
  ]
  const outsider = await makeMember(system, org, 'developer')
  const counts = async () =>
    Promise.all(
      [org.owner, developer, viewer, outsider].map(
        async ({ call }) => (await call(listApps, { search: alias })).apps[0]!.open_tickets,
      ),
    )
  expect(await counts()).toEqual([3, 3, 1, 0])
  await developer.call(changeTicketStatus, { alias, ticket_id: first.id, status: 'done' })
  expect(await counts()).toEqual([2, 2, 0, 0])
  expect((await viewer.call(showApp, { alias })).open_tickets).toBe(0)
})
