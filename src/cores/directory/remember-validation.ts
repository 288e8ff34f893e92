/** With hosted auth, keeps who the vendor says that somebody is: a day long it may send them what they asked for. */
import { keptLocally } from '../../../db/commit-locally.ts'
import { and, eq, lte, sql } from '../../../db/drizzle.ts'
import { validatedMembers } from '../../../db/schema.ts'
import type { Role } from '../../contracts/roles.ts'
import type { Storage } from '../dependencies.ts'

export type Validation = {
  readonly orgId: string
  readonly userId: string
  readonly membershipId: string
  /** Their own, not that of a token they made. */
  readonly role: Role
  readonly name: string
  /** Null unless it is verified. */
  readonly email: string | null
  readonly orgName: string
  readonly timezone: string
  /** When the vendor was asked. */
  readonly validatedAt: Date
}

/** Most calls then only read: a minute is precise enough for a day. */
const PRECISION_MS = 60_000

export async function rememberValidation({ db }: Pick<Storage, 'db'>, validation: Validation): Promise<void> {
  const { orgId, userId, validatedAt } = validation
  const [known] = await db
    .select()
    .from(validatedMembers)
    .where(and(eq(validatedMembers.orgId, orgId), eq(validatedMembers.userId, userId)))
  if (
    known &&
    isSame(known, validation) &&
    validatedAt.getTime() - known.validatedAt.getTime() < PRECISION_MS
  )
    return
  await db
    .insert(validatedMembers)
    .values({ ...validation, orgId: keptLocally(sql`${orgId}`) })
    .onConflictDoUpdate({
      target: [validatedMembers.orgId, validatedMembers.userId],
      set: validation,
      // Of two calls at once, the answer to the later question counts.
      setWhere: lte(validatedMembers.validatedAt, validatedAt),
    })
}

const isSame = (known: typeof validatedMembers.$inferSelect, next: Validation): boolean =>
  known.membershipId === next.membershipId &&
  known.role === next.role &&
  known.name === next.name &&
  known.email === next.email &&
  known.orgName === next.orgName &&
  known.timezone === next.timezone
