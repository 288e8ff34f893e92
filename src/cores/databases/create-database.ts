/**
 * Creates a managed database. Its row is written first and says that it is being created: after a crash in between,
 * whoever asks for the same name again continues from there. Nothing on the server is without a row.
 */
import { scramVerifier } from '../../../db/wire/scram.ts'
import { isUniqueViolation, type Transaction } from '../../../db/connect.ts'
import { and, count, eq, isNotNull, sql } from '../../../db/drizzle.ts'
import { dataSources } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { makeId } from '../../contracts/ids.ts'
import { DATABASES_MAX } from '../../contracts/limits.ts'
import { randomSecret } from '../../trust/keyed-hash.ts'
import type { MemberPrincipal } from '../principal.ts'
import type { Storage } from '../dependencies.ts'
import { writeInSteps, type InSteps, type Verb } from '../verb.ts'
import { leased } from '../work/index.ts'
import { requireDiskQuota } from './disk-quota.ts'
import type { ManagedDatabases } from './managed-databases.ts'
import {
  readLogin,
  sealContext,
  presentSource,
  sourceIdOf,
  type SourceDeps,
  type SourceRow,
} from './source-rows.ts'

export type DatabaseDeps = Storage & Omit<SourceDeps, 'managed'> & { readonly managed: ManagedDatabases }

/**
 * Longer than creating one takes anywhere; after it whoever began is taken for dead. Each has another end, as another takes it
 * only after that of the one before.
 */
const preparing = leased(dataSources, {
  heldBy: ['orgId', 'id', 'preparingUntil'],
  until: 'preparingUntil',
  seconds: 2 * 60,
})

export const CREATES_DATABASE = { audit: 'database.created' } as const
type Creating = DatabaseDeps & InSteps<typeof CREATES_DATABASE>

export const createDatabase: Verb<'createDatabase', DatabaseDeps> = writeInSteps(
  CREATES_DATABASE,
  async (context, { name, title, description }) =>
    presentSource(
      await createManagedDatabase(context, {
        name,
        title: title ?? name,
        description: description ?? '',
        documents: null,
      }),
    ),
)

type NewDatabase = Pick<SourceRow, 'name' | 'title' | 'description' | 'documents'>

export async function createManagedDatabase(context: Creating, asked: NewDatabase): Promise<SourceRow> {
  const { db, managed, member, transaction } = context
  // A new database has a login of its own, which may connect: whoever is over the quota would go on writing there.
  await requireDiskQuota(db, member.orgId, managed.kind)
  const row = (await resumeCreation(context, member, asked)) ?? (await insertRow(context, asked))
  try {
    await managed.create(row.physicalName!, row.verifier!, () => readLogin(context, row))
  } catch (error) {
    await undoCreation(context, row)
    throw error
  }
  return transaction(async ({ tx, audit }) => {
    const ready = await markReady(tx, row)
    await audit('database.created', sourceIdOf(row.name))
    return ready
  })
}

/**
 * Carries the organization and the source itself (41 and 57 random bits), so that two never collide, and a new
 * one never collides with one of the same name that was just removed. 63 characters with the longest name.
 */
const physicalNameOf = (orgId: string, id: string, name: string): string =>
  `t${orgId.slice(-8)}_${id.slice(-11)}_${name}`

const nameTaken = (name: string) =>
  new ServiceError('CONFLICT', `A database named ${name} already exists`, {
    hint: 'Choose another name, or use the existing one.',
  })

async function insertRow(
  { clock, managed, dataKeys, orgId, userId, transaction }: Creating,
  { name, title, description, documents }: NewDatabase,
): Promise<SourceRow> {
  const now = clock()
  const id = makeId('ds', now.getTime())
  const password = randomSecret()
  return transaction(async ({ tx }) => {
    await requireDatabaseLimit(tx, orgId)
    const [row] = await tx
      .insert(dataSources)
      .values({
        orgId,
        id,
        name,
        title,
        description,
        documents,
        kind: managed.kind,
        physicalName: physicalNameOf(orgId, id, name),
        verifier: scramVerifier(password),
        sealed: dataKeys.seal(sealContext({ orgId, id }), password),
        ...preparing.taken(),
        createdAt: now,
        createdBy: userId,
      })
      .returning()
    return row!
  }).catch((error: unknown) => {
    throw isUniqueViolation(error) ? nameTaken(name) : error
  })
}

export async function requireDatabaseLimit(tx: Storage['db'], orgId: string): Promise<void> {
  await tx.execute(sql`select pg_advisory_xact_lock(hashtextextended(${`databases of ${orgId}`}, 0))`)
  const [found] = await tx.select({ n: count() }).from(dataSources).where(eq(dataSources.orgId, orgId))
  if (found!.n >= DATABASES_MAX) {
    throw new ServiceError('CONFLICT', `An organization has at most ${DATABASES_MAX} databases`)
  }
}

/** One that somebody began to create and did not finish. */
export const resumeCreation = (
  { db, managed }: Pick<DatabaseDeps, 'db' | 'managed'>,
  { orgId }: MemberPrincipal,
  { name, documents }: Pick<NewDatabase, 'name' | 'documents'>,
): Promise<SourceRow | undefined> =>
  preparing.take(
    db,
    and(
      eq(dataSources.orgId, orgId),
      eq(dataSources.name, name),
      eq(dataSources.kind, managed.kind),
      isNotNull(dataSources.preparingUntil),
    ),
    { documents },
  )

export async function markReady(tx: Transaction, row: SourceRow): Promise<SourceRow> {
  const ready = await preparing.release(tx, preparing.isHeld(row))
  if (!ready) throw await overtaken(tx, row)
  return ready
}

/** Whoever goes on with it writes that it is created. Or somebody has removed it. */
async function overtaken(tx: Transaction, { orgId, id, name }: SourceRow): Promise<ServiceError> {
  const isRow = and(eq(dataSources.orgId, orgId), eq(dataSources.id, id))
  const [row] = await tx.select({ id: dataSources.id }).from(dataSources).where(isRow)
  return row ? nameTaken(name) : new ServiceError('NOT_FOUND')
}

/**
 * Removes what was created so far; if that fails too, the row stays and can be resumed or removed. Whoever comes late, because
 * another call went on with it or is done, removes nothing.
 */
async function undoCreation({ db, managed }: DatabaseDeps, row: SourceRow): Promise<void> {
  const own = await preparing.renew(db, preparing.isHeld(row))
  if (!own) return
  try {
    await managed.remove(row.physicalName!)
  } catch {
    return
  }
  await db.delete(dataSources).where(preparing.isHeld(own))
}
