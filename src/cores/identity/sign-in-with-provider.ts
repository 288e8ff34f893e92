/** Signs in the person that an identity provider has authenticated. */
import { and, eq, sql } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { identities, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { DisplayName, Email } from '../../contracts/fields.ts'
import { makeId } from '../../contracts/ids.ts'
import { proveEmail, releaseEmail } from '../email-addresses/index.ts'
import { joinByDomain } from '../organizations/index.ts'
import { bindAtSignIn } from '../scim/index.ts'
import type { Clock } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import type { ProvenPerson } from './sign-in-provider.ts'
import { startSession, type SessionDeps, type SignedIn } from './start-session.ts'

export async function signInWithProvider(
  deps: SessionDeps,
  person: ProvenPerson,
  input: { device: string; requestId: string },
): Promise<SignedIn> {
  return withTransaction(deps.db, async (tx) => {
    await lockPerson(tx, person)
    const user = (await findPerson(tx, deps.clock, person)) ?? (await createPerson(tx, deps.clock, person))
    const actor = { kind: 'user' as const, userId: user.id, userName: user.name, requestId: input.requestId }
    await bindAtSignIn(tx, deps.clock, actor, person)
    // Only what the provider vouches for right now opens a domain; the address we once stored does not.
    if (person.email !== null && person.emailVerified) {
      await joinByDomain(tx, deps.clock, actor, person.email.toLowerCase())
    }
    return startSession(tx, deps, actor, { signedInBy: person.provider, device: input.device })
  })
}

/** One at a time: of two first sign-ins at once, the second finds the account that the first has made. */
async function lockPerson(tx: Transaction, { issuer, subject }: ProvenPerson): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`identity ${issuer} ${subject}`}, 0))`)
}

async function findPerson(tx: Transaction, clock: Clock, person: ProvenPerson) {
  const [identity] = await tx
    .update(identities)
    .set({ lastUsedAt: clock(), email: person.email, emailVerified: person.emailVerified })
    .where(and(eq(identities.issuer, person.issuer), eq(identities.subject, person.subject)))
    .returning({ userId: identities.userId })
  if (!identity) return undefined
  if (person.email !== null && person.emailVerified)
    await proveEmail(tx, clock, identity.userId, person.email.toLowerCase())
  const [user] = await tx.select().from(users).where(eq(users.id, identity.userId))
  return user
}

/** Never joined to an existing account by email alone: whoever controls a mailbox today need not be that person. */
async function createPerson(tx: Transaction, clock: Clock, person: ProvenPerson) {
  const email = Email.safeParse(person.email ?? '')
  if (!email.success) {
    throw new ServiceError('FORBIDDEN', 'Your identity provider did not share your email address')
  }
  const name = DisplayName.safeParse(person.name ?? '')
  const now = clock()
  const [user] = await tx
    .insert(users)
    .values({
      id: makeId('usr', now.getTime()),
      email: email.data,
      emailVerifiedAt: person.emailVerified ? now : null,
      name: name.success ? name.data : email.data,
      createdAt: now,
    })
    .returning()
  await tx.insert(identities).values({
    issuer: person.issuer,
    subject: person.subject,
    userId: user!.id,
    provider: person.provider,
    email: email.data,
    emailVerified: person.emailVerified,
    createdAt: now,
    lastUsedAt: now,
  })
  if (person.emailVerified) await releaseEmail(tx, clock, email.data, user!.id)
  return user!
}
