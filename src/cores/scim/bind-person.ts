/** Whose account a provisioned person is: once, at the issuer of the organization, and never at another one. */
import type { Transaction } from '../../../db/connect.ts'
import { and, asc, eq, inArray, isNull, or, sql } from '../../../db/drizzle.ts'
import { identities, provisionedPeople as people, scimBearers } from '../../../db/schema.ts'
import type { Clock } from '../dependencies.ts'
import { recordAudit, type AuditActor } from '../record-audit.ts'
import { bareIssuer } from './bearer-rows.ts'
import { joinAsProvisioned } from './join.ts'
import { isOwnAddress } from './person-rows.ts'

type SignedIn = {
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
}

/**
 * At a sign-in: by `externalId` where it is the subject, otherwise by the address that the issuer answers for. Either way
 * the address that it shows must be in a domain of the organization, so that naming the subject of somebody else's person
 * brings in nobody.
 */
export async function bindAtSignIn(
  tx: Transaction,
  clock: Clock,
  actor: AuditActor & { readonly userId: string },
  { issuer, subject, email: shown, emailVerified }: SignedIn,
): Promise<void> {
  const email = shown?.toLowerCase() ?? null
  if (email === null) return
  const waiting = await tx
    .select({ person: people })
    .from(people)
    .innerJoin(scimBearers, and(eq(scimBearers.orgId, people.orgId), eq(scimBearers.id, people.bearerId)))
    .where(
      and(
        eq(scimBearers.issuer, bareIssuer(issuer)),
        isNull(scimBearers.revokedAt),
        isNull(people.deletedAt),
        isNull(people.userId),
        eq(people.active, true),
        or(eq(people.externalId, subject), emailVerified ? eq(people.email, email) : undefined),
      ),
    )
    .orderBy(people.orgId, sql`${people.externalId} is distinct from ${subject}`, asc(people.id))
    // Whoever is being set inactive at this moment is waited for.
    .for('update', { of: people })
  const byOrganization = Map.groupBy(waiting, ({ person }) => person.orgId)
  for (const [orgId, [first]] of byOrganization) {
    const { person } = first!
    if (!(await isOwnAddress(tx, orgId, email)) || (await isBound(tx, orgId, actor.userId))) continue
    const isIt = and(eq(people.orgId, orgId), eq(people.id, person.id))
    await tx.update(people).set({ userId: actor.userId }).where(isIt)
    await recordAudit(tx, clock, actor, { orgId, action: 'scim.person_bound', subject: person.userName })
    await joinAsProvisioned(tx, clock, actor, { ...person, userId: actor.userId })
  }
}

/** Whoever is bound to somebody here already is not bound a second time. */
async function isBound(tx: Transaction, orgId: string, userId: string): Promise<boolean> {
  const [bound] = await tx
    .select({ id: people.id })
    .from(people)
    .where(and(eq(people.orgId, orgId), eq(people.userId, userId), isNull(people.deletedAt)))
    .limit(1)
  return bound !== undefined
}

/** Of somebody who has signed in at this issuer before, as the subject that the directory names. */
export async function findKnownAccount(
  tx: Transaction,
  {
    orgId,
    issuer,
    externalId,
  }: { readonly orgId: string; readonly issuer: string; readonly externalId: string | null },
): Promise<string | null> {
  if (externalId === null) return null
  const [known] = await tx
    .select({ userId: identities.userId, email: identities.email })
    .from(identities)
    .where(and(inArray(identities.issuer, [issuer, `${issuer}/`]), eq(identities.subject, externalId)))
  if (!known?.email || !(await isOwnAddress(tx, orgId, known.email))) return null
  return (await isBound(tx, orgId, known.userId)) ? null : known.userId
}
