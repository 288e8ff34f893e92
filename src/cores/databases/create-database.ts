/**
 * Makes a managed database. The row comes first and says that it is being made; killed in between, whoever asks for
 * the same name again goes on from there. Nothing on the server is without a row.
 */
import { scramVerifier } from '../../../db/wire/scram.ts'
import { isUniqueViolation } from '../../../db/connect.ts'
import { and, count, eq, isNotNull, lt, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import type { createDatabase } from '../../contracts/databases.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { DATABASES_MAX } from '../../contracts/limits.ts'
import type { Handler } from '../../contracts/operation.ts'
import { randomSecret } from '../../trust/keyed-hash.ts'
import { recordAudit } from '../audit/index.ts'
import { asMember, type MemberCaller } from '../caller.ts'
import type { Storage } from '../needs.ts'
import { withTransaction } from '../transaction.ts'
import type { ManagedDatabases } from './managed-databases.ts'
import {
  loginOf,
  placeOf,
  presentSource,
  sourceIdOf,
  type ReachNeeds,
  type SourceRow,
} from './source-rows.ts'

export type DatabaseNeeds = Storage & Omit<ReachNeeds, 'managed'> & { readonly managed: ManagedDatabases }

/** Longer than making one takes anywhere; after it the maker is taken for dead. */
const PREPARING_MS = 2 * 60_000

export const makeDatabase =
  (needs: DatabaseNeeds): Handler<typeof createDatabase> =>
  async (who, { name, title, description }) => {
    const caller = asMember(who)
    const row =
      (await takeOver(needs, caller, name)) ??
      (await insertRow(needs, caller, { name, title: title ?? name, description: description ?? '' }))
    try {
      await needs.managed.create(row.physicalName!, row.verifier!, () => loginOf(needs, row))
    } catch (error) {
      await giveUp(needs, row)
      throw error
    }
    return presentSource(await markReady(needs, caller, row))
  }

/**
 * Carries the organization and the source itself (41 and 57 random bits), so that two never meet, and a new one never
 * meets one of the same name that was removed a moment ago and may still lie there. 63 letters with the longest name.
 */
const physicalNameOf = (orgId: string, id: string, name: string): string =>
  `t${orgId.slice(-8)}_${id.slice(-11)}_${name}`

const taken = (name: string) =>
  new ServiceError('CONFLICT', `A database named ${name} exists already`, {
    hint: 'Choose another name, or use the one that is there.',
  })

async function insertRow(
  { db, clock, managed, dataKeys }: DatabaseNeeds,
  { orgId, userId }: MemberCaller,
  { name, title, description }: { name: string; title: string; description: string },
): Promise<SourceRow> {
  const now = clock()
  const id = makeId('ds', now.getTime())
  const password = randomSecret()
  return withTransaction(db, async (tx) => {
    await requireRoom(tx, orgId)
    const [row] = await tx
      .insert(dataSources)
      .values({
        orgId,
        id,
        name,
        title,
        description,
        kind: managed.kind,
        physicalName: physicalNameOf(orgId, id, name),
        verifier: scramVerifier(password),
        sealed: dataKeys.seal(placeOf({ orgId, id }), password),
        preparingUntil: new Date(now.getTime() + PREPARING_MS),
        createdAt: now,
        createdBy: userId,
      })
      .returning()
    return row!
  }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? taken(name) : error
  })
}

export async function requireRoom(tx: Storage['db'], orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`databases of ${orgId}`}, 0))`)
  const [found] = await tx.select({ n: count() }).from(dataSources).where(eq(dataSources.orgId, orgId))
  if (found!.n >= DATABASES_MAX) {
    throw new ServiceError('CONFLICT', `An organization has at most ${DATABASES_MAX} databases`)
  }
}

/** One that somebody began and did not finish. */
async function takeOver(
  { db, clock, managed }: DatabaseNeeds,
  { orgId }: MemberCaller,
  name: string,
): Promise<SourceRow | undefined> {
  const now = clock()
  const [row] = await db
    .update(dataSources)
    .set({ preparingUntil: new Date(now.getTime() + PREPARING_MS) })
    .where(
      and(
        eq(dataSources.orgId, orgId),
        eq(dataSources.name, name),
        eq(dataSources.kind, managed.kind),
        isNotNull(dataSources.preparingUntil),
        lt(dataSources.preparingUntil, now),
      ),
    )
    .returning()
  return row
}

const own = ({ orgId, id }: SourceRow) => and(eq(dataSources.orgId, orgId), eq(dataSources.id, id))

const markReady = (needs: DatabaseNeeds, caller: MemberCaller, row: SourceRow): Promise<SourceRow> =>
  withTransaction(needs.db, async (tx) => {
    const [ready] = await tx.update(dataSources).set({ preparingUntil: null }).where(own(row)).returning()
    // Removed by somebody else in the meantime.
    if (!ready) throw new ServiceError('NOT_FOUND')
    await recordAudit(tx, needs.clock, caller, {
      orgId: row.orgId,
      action: 'database.created',
      subject: sourceIdOf(row.name),
    })
    return ready
  })

/** What was made of it is removed with it; if that fails too, the row stays and can be taken over or removed. */
async function giveUp({ db, managed }: DatabaseNeeds, row: SourceRow): Promise<void> {
  try {
    await managed.remove(row.physicalName!)
  } catch {
    return
  }
  await db.delete(dataSources).where(own(row))
}
