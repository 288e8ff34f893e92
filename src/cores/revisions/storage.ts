/** What an organization stores of source, under the lock that pushes and retention share. */
import type { Transaction } from '../../../db/connect.ts'
import { and, eq, sql } from '../../../db/drizzle.ts'
import { appBlobs, sourceStorage } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import type { AppKey } from './find-revision.ts'

export type SourceLimits = {
  /** Bytes that one organization may store. */
  readonly sourceStorageBytes: number
}

/** First in every transaction that stores or deletes: so they cannot wait for each other in a circle. */
export async function lockStorage(tx: Transaction, orgId: string): Promise<{ bytes: number }> {
  await tx.insert(sourceStorage).values({ orgId, bytes: 0 }).onConflictDoNothing()
  const [row] = await tx.select().from(sourceStorage).where(eq(sourceStorage.orgId, orgId)).for('update')
  return row!
}

export async function setStorage(tx: Transaction, orgId: string, bytes: number): Promise<void> {
  await tx.update(sourceStorage).set({ bytes }).where(eq(sourceStorage.orgId, orgId))
}

export function requireRoom(bytes: number, { sourceStorageBytes }: SourceLimits): void {
  if (bytes <= sourceStorageBytes) return
  const limit = Math.round(sourceStorageBytes / 1024 / 1024)
  throw new ServiceError('CONFLICT', `The source of this organization would take more than ${limit} MiB`, {
    hint: 'Push fewer or smaller files: add what is built or downloaded to .gitignore. Older revisions are deleted within two days. Whoever runs the installation can raise SOURCE_STORAGE_MIB.',
  })
}

/** In one parameter, however many there are: each number of parameters would be a statement of its own. */
export const isOneOf = (sha256: readonly string[]) =>
  sql`${appBlobs.sha256} in (select json_array_elements_text(${JSON.stringify(sha256)}::json))`

export const isOfApp = ({ orgId, appId }: AppKey) => and(eq(appBlobs.orgId, orgId), eq(appBlobs.appId, appId))
