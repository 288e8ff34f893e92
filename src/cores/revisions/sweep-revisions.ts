/**
 * Retention of source: the newest revisions of an app, and whatever is the head or is named, stay. Contents that nothing has
 * named for a day are deleted. It holds the lock of the organization's storage, as every push does, in short
 * transactions: a push waits for one of them, and never for all.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { lt, sql } from '../../../db/drizzle.ts'
import { appBlobs, appHeads, deployments, revisions, sourceBlobs } from '../../../db/schema.ts'
import { SOURCE_RETENTION } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import type { AppKey } from './find-revision.ts'
import { lockStorage, setStorage } from './storage.ts'

/** Of one transaction. */
const BATCH = { revisions: 20, blobs: 500 }

export async function sweepRevisions({ db, clock }: Storage, stopping?: AbortSignal): Promise<void> {
  for (const app of await appsWithOldRevisions(db)) {
    await untilDone(() => deleteOldRevisions(db, app, clock()), stopping)
  }
  const before = new Date(clock().getTime() - SOURCE_RETENTION.unnamedHours * 3_600_000)
  for (const orgId of await organizationsWithUnnamedBlobs(db, before)) {
    await untilDone(() => deleteUnnamedBlobs(db, orgId, before), stopping)
  }
}

async function untilDone(work: () => Promise<boolean>, stopping: AbortSignal | undefined): Promise<void> {
  for (;;) {
    if (stopping?.aborted || !(await work())) return
  }
}

async function appsWithOldRevisions(db: Handle): Promise<AppKey[]> {
  return db
    .select({ orgId: revisions.orgId, appId: revisions.appId })
    .from(revisions)
    .groupBy(revisions.orgId, revisions.appId)
    .having(sql`count(*) > ${SOURCE_RETENTION.revisions}`)
}

async function organizationsWithUnnamedBlobs(db: Handle, before: Date): Promise<string[]> {
  const rows = await db
    .selectDistinct({ orgId: appBlobs.orgId })
    .from(appBlobs)
    .where(lt(appBlobs.unnamedSince, before))
  return rows.map(({ orgId }) => orgId)
}

/** True: there may be more. */
const deleteOldRevisions = (db: Handle, app: AppKey, now: Date): Promise<boolean> =>
  withTransaction(db, async (tx) => {
    const { bytes } = await lockStorage(tx, app.orgId)
    const ids = await lockOldRevisions(tx, app)
    if (ids.length === 0) return false
    const { shas, manifestBytes } = await deleteRevisions(tx, app.orgId, ids)
    await noteUnnamed(tx, app, shas, now)
    await setStorage(tx, app.orgId, bytes - manifestBytes)
    return ids.length === BATCH.revisions
  })

/** Those that somebody is about to name are locked by them, and left for the next time. */
async function lockOldRevisions(tx: Transaction, { orgId, appId }: AppKey): Promise<string[]> {
  const rows = await tx.execute<{ id: string }>(sql`
    select id from ${revisions}
    where org_id = ${orgId} and app_id = ${appId}
      and id < (select id from ${revisions} where org_id = ${orgId} and app_id = ${appId}
        order by id desc offset ${SOURCE_RETENTION.revisions - 1} limit 1)
      and ${isUnnamed()}
    order by id limit ${BATCH.revisions} for update skip locked`)
  // Once more, in a statement that sees what was committed before the lock was had.
  const locked = JSON.stringify(rows.map(({ id }) => id))
  const still = await tx.execute<{ id: string }>(sql`
    select id from ${revisions}
    where org_id = ${orgId} and id in (select json_array_elements_text(${locked}::json)) and ${isUnnamed()}`)
  return still.map(({ id }) => id)
}

/** Nothing names it: it is not the head, and no deployment is of it. What comes to name revisions has its line here. */
const isUnnamed = () => sql`
  not exists (select from ${appHeads}
    where ${appHeads.orgId} = ${revisions.orgId} and ${appHeads.revisionId} = ${revisions.id})
  and not exists (select from ${deployments}
    where ${deployments.orgId} = ${revisions.orgId} and ${deployments.appId} = ${revisions.appId}
      and ${deployments.revisionId} = ${revisions.id})`

async function deleteRevisions(
  tx: Transaction,
  orgId: string,
  ids: readonly string[],
): Promise<{ shas: string; manifestBytes: number }> {
  // The one way past the trigger, and for this transaction alone.
  await tx.execute(sql`select set_config('svc.retention', 'on', true)`)
  const rows = await tx.execute<{ manifest: readonly [string, string][]; manifest_bytes: number }>(sql`
    delete from ${revisions}
    where org_id = ${orgId} and id in (select json_array_elements_text(${JSON.stringify(ids)}::json))
    returning manifest, manifest_bytes`)
  await tx.execute(sql`select set_config('svc.retention', '', true)`)
  const shas = new Set(rows.flatMap(({ manifest }) => manifest.map(([, sha256]) => sha256)))
  return {
    shas: JSON.stringify([...shas]),
    manifestBytes: rows.reduce((sum, row) => sum + row.manifest_bytes, 0),
  }
}

/** Of what the deleted ones had, that which no other revision of the app has. */
const noteUnnamed = (tx: Transaction, { orgId, appId }: AppKey, shas: string, now: Date) =>
  tx.execute(sql`
    update ${appBlobs} set unnamed_since = ${now.toISOString()}::timestamptz
    where org_id = ${orgId} and app_id = ${appId} and unnamed_since is null
      and sha256 in (select json_array_elements_text(${shas}::json))
      and sha256 not in (
        select file ->> 1 from ${revisions}, jsonb_array_elements(${revisions.manifest}) as file
        where ${revisions.orgId} = ${orgId} and ${revisions.appId} = ${appId})`)

const deleteUnnamedBlobs = (db: Handle, orgId: string, before: Date): Promise<boolean> =>
  withTransaction(db, async (tx) => {
    const { bytes } = await lockStorage(tx, orgId)
    const taken = await tx.execute<{ sha256: string; bytes: number }>(sql`
      delete from ${appBlobs}
      where org_id = ${orgId} and (app_id, sha256) in (
        select app_id, sha256 from ${appBlobs}
        where org_id = ${orgId} and unnamed_since < ${before.toISOString()}::timestamptz limit ${BATCH.blobs})
      returning sha256, bytes`)
    if (taken.length === 0) return false
    await tx.execute(sql`select set_config('svc.retention', 'on', true)`)
    // Another app may have the same content.
    await tx.execute(sql`
      delete from ${sourceBlobs}
      where org_id = ${orgId} and sha256 in (select json_array_elements_text(${JSON.stringify(taken.map((row) => row.sha256))}::json))
        and not exists (select from ${appBlobs} where ${appBlobs.orgId} = ${orgId} and ${appBlobs.sha256} = ${sourceBlobs.sha256})`)
    await tx.execute(sql`select set_config('svc.retention', '', true)`)
    await setStorage(
      tx,
      orgId,
      taken.reduce((rest, row) => rest - row.bytes, bytes),
    )
    return taken.length === BATCH.blobs
  })
