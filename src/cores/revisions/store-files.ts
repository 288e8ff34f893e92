/** Stores contents, each once in its organization and each named by its own hash. */
import type { Transaction } from '../../../db/connect.ts'
import { and, sql } from '../../../db/drizzle.ts'
import { appBlobs, sourceBlobs } from '../../../db/schema.ts'
import type { Storage } from '../dependencies.ts'
import { withTransaction } from '../transaction.ts'
import type { AppKey } from './find-revision.ts'
import { isOfApp, isOneOf, lockStorage, requireRoom, setStorage, type SourceLimits } from './storage.ts'

type Content = { readonly sha256: string; readonly content: Buffer }

/** Of one statement: other pushes of the organization wait for it, and all others for the connection. */
const BATCH = { bytes: 2 * 1024 * 1024, files: 500 }

/** Returns how many the app did not have. */
export async function storeFiles(
  deps: Storage & SourceLimits,
  app: AppKey,
  files: readonly Content[],
): Promise<number> {
  let stored = 0
  for (const batch of batchesOf([...new Map(files.map((file) => [file.sha256, file])).values()])) {
    stored += await withTransaction(deps.db, (tx) => storeBatch(tx, deps, app, batch))
  }
  return stored
}

function* batchesOf(files: readonly Content[]): Generator<readonly Content[]> {
  let [batch, bytes]: [Content[], number] = [[], 0]
  for (const file of files) {
    if (batch.length === BATCH.files || (batch.length > 0 && bytes + file.content.length > BATCH.bytes)) {
      yield batch
      ;[batch, bytes] = [[], 0]
    }
    batch.push(file)
    bytes += file.content.length
  }
  if (batch.length > 0) yield batch
}

async function storeBatch(
  tx: Transaction,
  deps: Storage & SourceLimits,
  app: AppKey,
  batch: readonly Content[],
): Promise<number> {
  const { bytes } = await lockStorage(tx, app.orgId)
  const unnamedSince = deps.clock()
  // Those it has are kept for another day, should nothing name them.
  const known = await tx
    .update(appBlobs)
    .set({
      unnamedSince: sql`case when unnamed_since is null then null else ${unnamedSince.toISOString()}::timestamptz end`,
    })
    .where(and(isOfApp(app), isOneOf(batch.map(({ sha256 }) => sha256))))
    .returning({ sha256: appBlobs.sha256 })
  const has = new Set(known.map(({ sha256 }) => sha256))
  const missing = batch.filter(({ sha256 }) => !has.has(sha256))
  if (missing.length === 0) return 0
  const total = missing.reduce((sum, { content }) => sum + content.length, bytes)
  requireRoom(total, deps)
  await insertBlobs(tx, app.orgId, missing)
  await insertAppBlobs(tx, app, missing, unnamedSince)
  await setStorage(tx, app.orgId, total)
  return missing.length
}

/** As JSON, whose base64 is half the size of the driver's own form of bytes. */
const insertBlobs = (tx: Transaction, orgId: string, files: readonly Content[]) =>
  tx.execute(sql`
    insert into ${sourceBlobs} (org_id, sha256, content)
    select ${orgId}, file ->> 0, decode(file ->> 1, 'base64')
    from json_array_elements(${JSON.stringify(
      files.map(({ sha256, content }) => [sha256, content.toString('base64')]),
    )}::json) as file
    on conflict do nothing`)

const insertAppBlobs = (tx: Transaction, { orgId, appId }: AppKey, files: readonly Content[], at: Date) =>
  tx.execute(sql`
    insert into ${appBlobs} (org_id, app_id, sha256, bytes, unnamed_since)
    select ${orgId}, ${appId}, file ->> 0, (file ->> 1)::integer, ${at.toISOString()}::timestamptz
    from json_array_elements(${JSON.stringify(
      files.map(({ sha256, content }) => [sha256, content.length]),
    )}::json) as file`)
