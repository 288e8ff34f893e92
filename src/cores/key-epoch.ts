/**
 * Which secrets credentials were made under, for those who do not hold them: a row that the auth-service writes when it
 * starts. A credential of another epoch has ended. With hosted auth there are no such secrets here, so the epoch is that of
 * the installation, and a command changes it.
 */
import { randomBytes } from 'node:crypto'
import type { Column, SQL } from 'drizzle-orm'
import type { Handle } from '../../db/connect.ts'
import { eq, isNull, or, sql } from '../../db/drizzle.ts'
import { appTokens, installationFacts, machineAgentCredentials, scimBearers } from '../../db/schema.ts'
import { preparedQuery } from './prepared-query.ts'
import { recordEnding } from './record-ending.ts'
import { withTransaction } from './transaction.ts'

export const KEY_EPOCH_FACT = 'key_epoch'

/** Null until an auth-service that knows of it has started. */
export async function readKeyEpoch(db: Handle): Promise<string | null> {
  const [fact] = await epochFact(db).execute({ name: KEY_EPOCH_FACT })
  return fact === undefined ? null : (fact.value as string)
}

const epochFact = preparedQuery((db) =>
  db
    .select({ value: installationFacts.value })
    .from(installationFacts)
    .where(eq(installationFacts.name, sql.placeholder('name')))
    .prepare('key_epoch'),
)

/** A row without one was made by a version that did not know of it: it gets that of its time at the next start. */
export const isOfEpoch = (column: Column, epoch: string | null): SQL | undefined =>
  epoch === null ? isNull(column) : or(isNull(column), eq(column, epoch))

/** What was made before this start belongs to the epoch before it, or to the first one. */
export async function writeKeyEpoch(db: Handle, epoch: string): Promise<void> {
  const before = await readKeyEpoch(db)
  await stampEpoch(db, before ?? epoch)
  if (before === epoch) return
  await withTransaction(db, async (tx) => {
    if (before !== null) recordEnding(tx, 'key_epoch', [{ id: before, orgId: null, to: { epoch } }])
    await tx
      .insert(installationFacts)
      .values({ name: KEY_EPOCH_FACT, value: epoch })
      .onConflictDoUpdate({ target: installationFacts.name, set: { value: epoch } })
  })
}

/** With hosted auth, at a start: of several processes, the first one chooses it. */
export async function beginInstallationEpoch(db: Handle): Promise<void> {
  await db.insert(installationFacts).values({ name: KEY_EPOCH_FACT, value: newEpoch() }).onConflictDoNothing()
  const epoch = await readKeyEpoch(db)
  if (epoch !== null) await stampEpoch(db, epoch)
}

/** Ends every app token of an installation with hosted auth. */
export async function endInstallationEpoch(db: Handle): Promise<void> {
  await beginInstallationEpoch(db)
  await writeKeyEpoch(db, newEpoch())
}

const newEpoch = (): string => randomBytes(8).toString('hex')

async function stampEpoch(db: Handle, epoch: string): Promise<void> {
  await db.update(appTokens).set({ keyEpoch: epoch }).where(isNull(appTokens.keyEpoch))
  await db
    .update(machineAgentCredentials)
    .set({ keyEpoch: epoch })
    .where(isNull(machineAgentCredentials.keyEpoch))
  await db.update(scimBearers).set({ keyEpoch: epoch }).where(isNull(scimBearers.keyEpoch))
}
