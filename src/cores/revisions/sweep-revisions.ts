/**
 * Retention of source: the newest revisions of an app, the head, and those that may be deployed again stay; fewer where
 * the organization has little storage left. Contents that nothing has named for a day are deleted. It holds the lock of the
 * organization's storage, as every push does, in short transactions: a push waits for one of them, and never for all.
 */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { lt, sql } from '../../../db/drizzle.ts'
import {
  appBlobs,
  appHeads,
  deployments,
  proposals,
  proposedRevisions,
  revisions,
  sourceBlobs,
  sourceStorage,
} from '../../../db/schema.ts'
import { SOURCE_RETENTION } from '../../contracts/limits.ts'
import type { Storage } from '../dependencies.ts'
import { separately } from '../separately.ts'
import { withTransaction } from '../transaction.ts'
import type { AppKey } from './find-revision.ts'
import { lockStorage, setStorage, type SourceLimits } from './storage.ts'

/** Of one transaction. */
const BATCH = { revisions: 20, blobs: 500 }

/** One app or organization that fails leaves the others theirs. */
export async function sweepRevisions(deps: Storage & SourceLimits, stopping?: AbortSignal): Promise<void> {
  const { db, clock } = deps
  const parts = separately()
  for (const app of await appsWithOldRevisions(deps)) {
    await parts.run(() => untilDone(() => deleteOldRevisions(deps, app), stopping))
  }
  const before = new Date(clock().getTime() - SOURCE_RETENTION.unnamedHours * 3_600_000)
  for (const orgId of await organizationsWithUnnamedBlobs(db, before)) {
    await parts.run(() => untilDone(() => deleteUnnamedBlobs(db, orgId, before), stopping))
  }
  parts.end()
}

async function untilDone(work: () => Promise<boolean>, stopping: AbortSignal | undefined): Promise<void> {
  for (;;) {
    if (stopping?.aborted || !(await work())) return
  }
}

/** Above it an organization keeps less: nobody can delete a revision, and so make room, by hand. */
const scarceBytes = ({ sourceStorageBytes }: SourceLimits): number =>
  Math.floor(sourceStorageBytes * SOURCE_RETENTION.scarceAbove)

async function appsWithOldRevisions(deps: Storage & SourceLimits): Promise<AppKey[]> {
  const { revisions: many, scarceRevisions: few } = SOURCE_RETENTION
  const rows = await deps.db.execute<{ org_id: string; app_id: string }>(sql`
    select r.org_id, r.app_id
    from ${revisions} r left join ${sourceStorage} s on s.org_id = r.org_id
    group by r.org_id, r.app_id, s.bytes
    having count(*) > case when s.bytes > ${scarceBytes(deps)}::bigint then ${few}::int else ${many}::int end`)
  return rows.map((row) => ({ orgId: row.org_id, appId: row.app_id }))
}

async function organizationsWithUnnamedBlobs(db: Handle, before: Date): Promise<string[]> {
  const rows = await db
    .selectDistinct({ orgId: appBlobs.orgId })
    .from(appBlobs)
    .where(lt(appBlobs.unnamedSince, before))
  return rows.map(({ orgId }) => orgId)
}

/** True: there may be more. */
const deleteOldRevisions = (deps: Storage & SourceLimits, app: AppKey): Promise<boolean> =>
  withTransaction(deps.db, async (tx) => {
    const { bytes } = await lockStorage(tx, app.orgId)
    const isScarce = bytes > scarceBytes(deps)
    const ids = await lockOldRevisions(
      tx,
      app,
      isScarce ? SOURCE_RETENTION.scarceRevisions : SOURCE_RETENTION.revisions,
    )
    if (ids.length === 0) return false
    const { shas, manifestBytes } = await deleteRevisions(tx, app.orgId, ids)
    await noteUnnamed(tx, app, shas, deps.clock())
    await setStorage(tx, app.orgId, bytes - manifestBytes)
    return ids.length === BATCH.revisions
  })

/** Those that somebody is about to name are locked by them, and left for the next time. */
async function lockOldRevisions(tx: Transaction, app: AppKey, kept: number): Promise<string[]> {
  const { orgId, appId } = app
  const isOld = sql`org_id = ${orgId} and app_id = ${appId}
    and id < (select id from ${revisions} where org_id = ${orgId} and app_id = ${appId}
      order by id desc offset ${kept - 1} limit 1)
    and ${isUnnamed(app, kept)}`
  const rows = await tx.execute<{ id: string }>(sql`
    select id from ${revisions} where ${isOld} order by id limit ${BATCH.revisions} for update skip locked`)
  // Once more, in a statement that sees what was committed before the lock was had.
  const locked = JSON.stringify(rows.map(({ id }) => id))
  const still = await tx.execute<{ id: string }>(sql`
    select id from ${revisions} where ${isOld} and id in (select json_array_elements_text(${locked}::json))`)
  return still.map(({ id }) => id)
}

/**
 * It is not the head, nothing waits for it or runs with it, and it is none of those that were last deployed with success,
 * among which is whatever a rollback would deploy. Nor is it that of the last attempt, which may be what runs, nor one of
 * a proposal that may be deployed, nor one of the newest proposals. What comes to name revisions has its line here.
 */
const isUnnamed = ({ orgId, appId }: AppKey, kept: number) => sql`
  not exists (select from ${appHeads}
    where ${appHeads.orgId} = ${revisions.orgId} and ${appHeads.revisionId} = ${revisions.id})
  and not exists (select from ${deployments}
    where ${deployments.orgId} = ${revisions.orgId} and ${deployments.appId} = ${revisions.appId}
      and ${deployments.revisionId} = ${revisions.id} and ${deployments.state} in ('queued', 'running'))
  and id not in (select revision_id from ${deployments}
    where org_id = ${orgId} and app_id = ${appId} and state = 'succeeded'
    group by revision_id order by max(fence) desc limit ${kept})
  and id not in (select revision_id from ${deployments}
    where org_id = ${orgId} and app_id = ${appId} and started_at is not null
    order by fence desc limit 1)
  and not exists (select from ${proposals} as p
    where p.org_id = ${orgId} and p.app_id = ${appId} and ${revisions.id} in (p.base_revision_id, p.new_revision_id)
      and (p.state in ('preparing', 'ready', 'approved', 'failed') or p.id in (
        select id from ${proposals} where org_id = ${orgId} and app_id = ${appId} order by id desc limit ${kept})))`

async function deleteRevisions(
  tx: Transaction,
  orgId: string,
  ids: readonly string[],
): Promise<{ shas: ReadonlySet<string>; manifestBytes: number }> {
  // The one way past the trigger, and for this transaction alone.
  await tx.execute(sql`select set_config('svc.retention', 'on', true)`)
  const rows = await tx.execute<{ manifest: readonly [string, string][]; manifest_bytes: number }>(sql`
    delete from ${revisions}
    where org_id = ${orgId} and id in (select json_array_elements_text(${JSON.stringify(ids)}::json))
    returning manifest, manifest_bytes`)
  await tx.execute(sql`select set_config('svc.retention', '', true)`)
  await tx.execute(sql`
    delete from ${proposedRevisions}
    where org_id = ${orgId} and revision_id in (select json_array_elements_text(${JSON.stringify(ids)}::json))`)
  const shas = new Set(rows.flatMap(({ manifest }) => manifest.map(([, sha256]) => sha256)))
  return {
    shas,
    manifestBytes: rows.reduce((sum, row) => sum + row.manifest_bytes, 0),
  }
}

/**
 * Of what the deleted ones had, that which no other revision of the app has. The lists of the others are read once, and
 * their number is limited; what is left of them is compared here, where it cannot be compared pair by pair.
 */
async function noteUnnamed(
  tx: Transaction,
  { orgId, appId }: AppKey,
  shas: ReadonlySet<string>,
  now: Date,
): Promise<void> {
  const rows = await tx.execute<{ sha256: string }>(sql`
    select distinct file ->> 1 as sha256
    from ${revisions}, jsonb_array_elements(${revisions.manifest}) as file
    where ${revisions.orgId} = ${orgId} and ${revisions.appId} = ${appId}
      and file ->> 1 in (select json_array_elements_text(${JSON.stringify([...shas])}::json))`)
  const named = new Set(rows.map(({ sha256 }) => sha256))
  const unnamed = JSON.stringify([...shas].filter((sha256) => !named.has(sha256)))
  await tx.execute(sql`
    update ${appBlobs} set unnamed_since = ${now.toISOString()}::timestamptz
    where org_id = ${orgId} and app_id = ${appId} and unnamed_since is null
      and sha256 in (select json_array_elements_text(${unnamed}::json))`)
}

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
