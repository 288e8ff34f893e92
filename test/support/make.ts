/** People, organizations and tokens for a test: every test makes its own and cleans up nothing. */
import { randomBytes } from 'node:crypto'
import type * as z from 'zod'
import { and, eq } from '../../db/drizzle.ts'
import type { Handle } from '../../db/connect.ts'
import { appMembers, memberships, passwords, users } from '../../db/schema.ts'
import { argon2Passwords } from '../../src/adapters/passwords/argon2.ts'
import type { AppRole } from '../../src/contracts/apps.ts'
import type { Call } from '../../src/client/http-client.ts'
import { makeId } from '../../src/contracts/ids.ts'
import { createOrganization } from '../../src/contracts/organizations.ts'
import { whoAmI } from '../../src/contracts/people.ts'
import type { Role } from '../../src/contracts/roles.ts'
import { signInWithPassword } from '../../src/contracts/sessions.ts'
import { createApiToken } from '../../src/contracts/tokens.ts'
import { issueSessionToken } from '../../src/cores/identity/issue-session-token.ts'
import { startSession } from '../../src/cores/identity/start-session.ts'
import type { TestSystem } from './system.ts'

export const unique = (word: string): string => `${word}-${randomBytes(5).toString('hex')}`

export const PASSWORD = 'a few words for the tests'
const passwordHash = argon2Passwords({ memoryKib: 64, passes: 1 }).hash(PASSWORD)

export type Person = {
  readonly userId: string
  readonly email: string
  readonly name: string
  readonly token: string
  readonly call: Call
}

export async function makePerson(
  system: TestSystem,
  given: { email?: string; name?: string; verified?: boolean } = {},
): Promise<Person> {
  const name = given.name ?? unique('person')
  const email = given.email ?? `${name}@people.test`
  const now = system.clock.now()
  const userId = makeId('usr', now.getTime())
  const emailVerifiedAt = (given.verified ?? true) ? now : null
  const hash = await passwordHash
  const insert = async (db: Handle) => {
    await db.insert(users).values({ id: userId, email, emailVerifiedAt, name, createdAt: now })
    await db.insert(passwords).values({ userId, email, hash, changedAt: now })
  }
  const { auth } = system.system
  // Who signs in with an address of a domain joins its organization; and a vendor's sessions are made there.
  if (!auth || system.isHosted || given.email !== undefined) {
    await insert(system.db)
    return { userId, email, name, ...(await signedIn(system, email)) }
  }
  // A session as a sign-in makes it, at a third of the time: every test makes people.
  const { sessionId } = await system.db.transaction(async (tx) => {
    await insert(tx)
    const actor = { kind: 'user' as const, userId, userName: name, requestId: unique('req') }
    return startSession(tx, auth, actor, { signedInBy: 'password', device: 'a program' })
  })
  const { token } = await issueSessionToken(system.db, auth, sessionId)
  return { userId, email, name, token, call: system.as({ token }) }
}

/** Another session of the same person. */
export async function signedIn(system: TestSystem, email: string): Promise<{ token: string; call: Call }> {
  const { token } = await system.as()(signInWithPassword, { email, password: PASSWORD })
  return { token, call: system.as({ token }) }
}

export type Org = {
  readonly id: string
  readonly name: string
  readonly slug: string
  readonly owner: Person
}

export async function makeOrganization(system: TestSystem, owner?: Person): Promise<Org> {
  const person = owner ?? (await makePerson(system))
  const { id, name, slug } = await person.call(createOrganization, { name: unique('Org') })
  return { id, name, slug, owner: person }
}

export async function makeMember(system: TestSystem, org: Org, role: Role, person?: Person): Promise<Person> {
  const member = person ?? (await makePerson(system))
  await system.db.insert(memberships).values({
    orgId: org.id,
    userId: member.userId,
    role,
    joinedBy: 'invitation',
    joinedAt: system.clock.now(),
  })
  // An installation with hosted auth knows only who has been there.
  if (system.isHosted) await system.as({ token: member.token, organization: org.id })(whoAmI, {})
  return member
}

export async function makeApiToken(
  system: TestSystem,
  org: Org,
  person: Person,
  asked: Partial<z.input<typeof createApiToken.input>> = {},
): Promise<{ id: string; token: string; call: Call }> {
  const made = await system.as({ token: person.token, organization: org.id })(createApiToken, {
    name: unique('token'),
    ...asked,
  })
  return { id: made.id, token: made.token, call: system.as({ token: made.token }) }
}

/** As setAppMember writes it, for tests without the deploy-api. */
export async function makeAppMember(
  { db, clock }: Pick<TestSystem, 'db' | 'clock'>,
  person: { orgId: string; appId: string; userId: string; role?: AppRole },
): Promise<void> {
  const [membership] = await db
    .select({ membershipId: memberships.id })
    .from(memberships)
    .where(and(eq(memberships.orgId, person.orgId), eq(memberships.userId, person.userId)))
  await db.insert(appMembers).values({ role: 'builder', addedAt: clock.now(), ...membership!, ...person })
}
