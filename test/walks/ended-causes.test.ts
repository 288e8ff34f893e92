/** What made a right ends it: the token, the setting, the password, the removal; and only in the organization it ended in. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { argon2Passwords } from '../../src/adapters/passwords/argon2.ts'
import { endAccessSince } from '../../src/contracts/access.ts'
import { createApp, removeAppMember, setAppMember, showApp } from '../../src/contracts/apps.ts'
import { acceptInvitation, inviteMember, removeMember } from '../../src/contracts/members.ts'
import { switchOrganization, updateOrganization } from '../../src/contracts/organizations.ts'
import { changePassword, whoAmI } from '../../src/contracts/people.ts'
import { signInWithPassword, signOutEverywhere } from '../../src/contracts/sessions.ts'
import { listApiTokens, revokeApiToken } from '../../src/contracts/tokens.ts'
import {
  makeApiToken,
  makeMember,
  makeOrganization,
  makePerson,
  PASSWORD,
  unique,
  type Org,
  type Person,
} from '../support/make.ts'
import { startSystem, type TestSystem } from '../support/system.ts'

const passwords = argon2Passwords({ memoryKib: 64, passes: 1 })
let system: TestSystem
let org: Org
/** Holds the next check of a password until it is told to go on. */
let held: { began: () => void; goOn: Promise<void> } | undefined

beforeAll(async () => {
  system = await startSystem(
    {},
    {
      passwords: {
        ...passwords,
        async verify(hash, password) {
          const now = held
          held = undefined
          now?.began()
          await now?.goOn
          return passwords.verify(hash, password)
        },
      },
    },
  )
  org = await makeOrganization(system)
})
afterAll(() => system.stop())

const secretOf = ({ invitation_url }: { invitation_url?: string | undefined }) =>
  invitation_url!.split('/').at(-1)!
const accept = (who: Person, secret: string) => who.call(acceptInvitation, { token: secret })
const notThere = { code: 'NOT_FOUND' }

describe('an open invitation', () => {
  test('ends with the token it was made with, and with the one that made that', async () => {
    for (const generations of [1, 2]) {
      const first = await makeApiToken(system, org, org.owner)
      const last =
        generations === 1 ? first : await makeApiToken(system, org, { ...org.owner, token: first.token }, {})
      const invited = await makePerson(system)
      const secret = secretOf(
        await last.call(inviteMember, { org_id: org.id, email: invited.email, role: 'viewer' }),
      )
      await org.owner.call(revokeApiToken, { token_id: first.id })
      await expect(accept(invited, secret)).rejects.toMatchObject(notThere)
    }
  })

  test('is not open for longer than the token it was made with', async () => {
    const expiryOf = async (by: Pick<Person, 'call'>) => {
      const made = await by.call(inviteMember, { org_id: org.id, email: `${unique('new')}@people.test` })
      return made.expires_at
    }
    const token = await makeApiToken(system, org, org.owner, { expires_in_days: 1 })
    const { tokens } = await org.owner.call(listApiTokens, {})
    const byToken = await expiryOf(token)
    expect(tokens.find(({ id }) => id === token.id)?.expires_at).toBe(byToken)
    expect((await expiryOf(org.owner)) > byToken).toBe(true)
  })

  test('of an admin ends when an owner no longer lets admins invite', async () => {
    const admin = await makeMember(system, org, 'admin')
    const invited = await makePerson(system)
    const allow = (admins_may_invite: boolean) =>
      org.owner.call(updateOrganization, { org_id: org.id, admins_may_invite })
    await allow(true)
    const secret = secretOf(
      await admin.call(inviteMember, { org_id: org.id, email: invited.email, role: 'viewer' }),
    )
    await allow(false)
    await expect(accept(invited, secret)).rejects.toMatchObject(notThere)
  })

  test('to an address that was never verified does not outlive the removal of its person', async () => {
    const member = await makeMember(system, org, 'viewer', await makePerson(system, { verified: false }))
    const secret = secretOf(
      await org.owner.call(inviteMember, { org_id: org.id, email: member.email, role: 'admin' }),
    )
    await org.owner.call(removeMember, { org_id: org.id, user_id: member.userId })
    await expect(accept(member, secret)).rejects.toMatchObject(notThere)
  })
})

test('an organization ends the sessions that work in it, and not those that work in another', async () => {
  const other = await makeOrganization(system)
  const member = await makeMember(system, org, 'viewer')
  const elsewhere = await makeMember(system, org, 'viewer')
  await makeMember(system, other, 'viewer', elsewhere)
  await elsewhere.call(switchOrganization, { org_id: other.id })
  await member.call(switchOrganization, { org_id: org.id })
  await org.owner.call(endAccessSince, { since: '1971-01-01T00:00:00Z', all: true })
  await expect(member.call(whoAmI, {})).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  await expect(elsewhere.call(whoAmI, {})).resolves.toMatchObject({ user: { id: elsewhere.userId } })
})

test('a token capped to viewing does not take its person off an app', async () => {
  const own = await makeOrganization(system)
  const alias = unique('shop')
  await own.owner.call(createApp, { alias, name: 'Shop' })
  const builder = await makeMember(system, own, 'developer')
  await own.owner.call(setAppMember, { alias, user_id: builder.userId, role: 'builder' })
  const capped = await makeApiToken(system, own, builder, { role_cap: 'viewer' })
  const leave = { alias, user_id: builder.userId }
  await expect(capped.call(removeAppMember, leave)).rejects.toMatchObject(notThere)
  const { members } = await own.owner.call(showApp, { alias })
  expect(members.map(({ user_id }) => user_id)).toContain(builder.userId)
})

describe('a password that is changed while it is being checked', () => {
  /** Checks begin, then the change commits, then they go on. */
  async function meanwhile(check: () => Promise<unknown>, change: () => Promise<unknown>) {
    const began = Promise.withResolvers<void>()
    const goOn = Promise.withResolvers<void>()
    held = { began: began.resolve, goOn: goOn.promise }
    const checked = check()
    checked.catch(() => {})
    await began.promise
    await change()
    goOn.resolve()
    return checked
  }
  const changing = (person: Person) => () =>
    person.call(changePassword, { current_password: PASSWORD, new_password: 'another few words here' })

  test('opens no session', async () => {
    const person = await makePerson(system)
    const signIn = () => system.as({})(signInWithPassword, { email: person.email, password: PASSWORD })
    await expect(meanwhile(signIn, changing(person))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })

  test('is not changed over that', async () => {
    const person = await makePerson(system)
    const over = () =>
      person.call(changePassword, { current_password: PASSWORD, new_password: 'words of somebody else' })
    await expect(meanwhile(over, changing(person))).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
    const signIn = { email: person.email, password: 'another few words here' }
    await expect(system.as({})(signInWithPassword, signIn)).resolves.toMatchObject({
      user: { id: person.userId },
    })
  })

  test('is not changed by a session that has ended', async () => {
    const person = await makePerson(system)
    const ended = meanwhile(changing(person), () => person.call(signOutEverywhere, {}))
    await expect(ended).rejects.toMatchObject({ code: 'UNAUTHENTICATED' })
  })
})
