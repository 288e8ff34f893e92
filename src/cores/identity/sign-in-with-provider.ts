/** Sign-in through an identity provider: the walk there, the walk back, and whose account it is. */
import { and, eq, gt, isNull } from '../../../db/drizzle.ts'
import type { Transaction } from '../../../db/connect.ts'
import { identities, signInAttempts, users } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { DisplayName, Email } from '../../contracts/fields.ts'
import { makeId } from '../../contracts/ids.ts'
import { SIGN_IN_ATTEMPT_SECONDS } from '../../contracts/limits.ts'
import { keyedHash } from '../../trust/keyed-hash.ts'
import { joinByDomain } from '../organizations/index.ts'
import type { Clock, Keys, Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import type { ProvenPerson, SignInSecrets } from './sign-in-provider.ts'
import { startSession, type SessionNeeds, type SignedIn } from './sessions.ts'

export type Attempt = SignInSecrets & {
  provider: string
  returnTo: string
  /** The cookie of the browser that sets out. */
  browser: string
}

const stateHash = (needs: Keys, value: string) => keyedHash(needs.keyFor('sign-in-state'), value)

export async function rememberAttempt(needs: Storage & Keys, attempt: Attempt): Promise<void> {
  await needs.db.insert(signInAttempts).values({
    stateHash: stateHash(needs, attempt.state),
    provider: attempt.provider,
    browserHash: stateHash(needs, attempt.browser),
    nonce: attempt.nonce,
    codeVerifier: attempt.codeVerifier,
    returnTo: attempt.returnTo,
    expiresAt: new Date(needs.clock().getTime() + SIGN_IN_ATTEMPT_SECONDS * 1000),
  })
}

/** Taken once: a replayed state, another browser, another provider or a late return all find nothing. */
export async function takeAttempt(
  needs: Storage & Keys,
  came: { provider: string; state: string; browser: string },
): Promise<{ nonce: string; codeVerifier: string; returnTo: string } | undefined> {
  const [row] = await needs.db
    .delete(signInAttempts)
    .where(
      and(
        eq(signInAttempts.stateHash, stateHash(needs, came.state)),
        eq(signInAttempts.browserHash, stateHash(needs, came.browser)),
        eq(signInAttempts.provider, came.provider),
        gt(signInAttempts.expiresAt, needs.clock()),
      ),
    )
    .returning()
  return row
}

export async function signInAs(
  needs: SessionNeeds,
  person: ProvenPerson,
  came: { device: string; requestId: string },
): Promise<SignedIn> {
  return withTransaction(needs.db, async (tx) => {
    const user = (await knownPerson(tx, needs.clock, person)) ?? (await newPerson(tx, needs.clock, person))
    const by = { kind: 'user' as const, userId: user.id, userName: user.name, requestId: came.requestId }
    // Only what the provider vouches for right now opens a domain; the address we once stored does not.
    if (person.email !== null && person.emailVerified) {
      await joinByDomain(tx, needs.clock, by, person.email.toLowerCase())
    }
    return startSession(tx, needs, by, { signedInBy: person.provider, device: came.device })
  })
}

async function knownPerson(tx: Transaction, clock: Clock, person: ProvenPerson) {
  const [identity] = await tx
    .update(identities)
    .set({ lastUsedAt: clock(), email: person.email })
    .where(and(eq(identities.issuer, person.issuer), eq(identities.subject, person.subject)))
    .returning({ userId: identities.userId })
  if (!identity) return undefined
  if (person.email !== null && person.emailVerified) {
    await tx
      .update(users)
      .set({ emailVerifiedAt: clock() })
      .where(
        and(
          eq(users.id, identity.userId),
          eq(users.email, person.email.toLowerCase()),
          isNull(users.emailVerifiedAt),
        ),
      )
  }
  const [user] = await tx.select().from(users).where(eq(users.id, identity.userId))
  return user
}

/** Never joined to an existing account by e-mail alone: whoever controls a mailbox today need not be that person. */
async function newPerson(tx: Transaction, clock: Clock, person: ProvenPerson) {
  const email = Email.safeParse(person.email ?? '')
  if (!email.success) {
    throw new ServiceError('FORBIDDEN', 'Your identity provider did not tell us an e-mail address')
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
    createdAt: now,
    lastUsedAt: now,
  })
  return user!
}
