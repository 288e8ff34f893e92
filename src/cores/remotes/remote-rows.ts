/** Remotes as they are kept: the token sealed for its app and address, so that it opens for no other. */
import type { Handle, Transaction } from '../../../db/connect.ts'
import { and, desc, eq, isNotNull } from '../../../db/drizzle.ts'
import { appRemotes, pullRequests } from '../../../db/schema.ts'
import { RIGHTS, type GitHostName } from '../../contracts/git-hosts.ts'
import { notFound } from '../../contracts/errors.ts'
import type { DataKeys } from '../../trust/data-key.ts'
import type { RemoteAccess } from './git-host-port.ts'

export type RemoteRow = typeof appRemotes.$inferSelect
export type RemoteKey = { readonly orgId: string; readonly appId: string }
export type RemoteDeps = { readonly dataKeys: DataKeys; readonly apiUrl: URL }

export const isRemote = ({ orgId, appId }: RemoteKey) =>
  and(eq(appRemotes.orgId, orgId), eq(appRemotes.appId, appId))

export async function findRemote(db: Handle, key: RemoteKey): Promise<RemoteRow | undefined> {
  const [row] = await db.select().from(appRemotes).where(isRemote(key))
  return row
}

/** `share`: it stays as it is until the end; `update`: for whoever changes it. */
export async function lockRemote(
  tx: Transaction,
  key: RemoteKey,
  strength: 'share' | 'update',
): Promise<RemoteRow | undefined> {
  const [row] = await tx.select().from(appRemotes).where(isRemote(key)).for(strength)
  return row
}

/** As it was seen just now. Alone: whoever locks a proposal does not wait for a remote. */
export async function noteVisibility(db: Handle, remote: RemoteRow, isPublic: boolean): Promise<void> {
  if (remote.isPublic === isPublic) return
  await db
    .update(appRemotes)
    .set({ isPublic })
    .where(and(isRemote(remote), eq(appRemotes.url, remote.url)))
}

export async function requireRemote(tx: Transaction, key: RemoteKey): Promise<RemoteRow> {
  const row = await lockRemote(tx, key, 'update')
  if (!row) throw notFound()
  return row
}

type Place = RemoteKey & { readonly host: GitHostName; readonly url: string }

const placeOf = (what: 'token' | 'secret', { orgId, appId, host, url }: Place): string =>
  `remote ${what} ${orgId} ${appId} ${host} ${url}`

export const sealToken = (dataKeys: DataKeys, place: Place, token: string): string =>
  dataKeys.seal(placeOf('token', place), token)

export const sealSecret = (dataKeys: DataKeys, place: Place, secret: string): string =>
  dataKeys.seal(placeOf('secret', place), secret)

export const openSecret = (dataKeys: DataKeys, row: RemoteRow): string | null =>
  row.sealedHookSecret === null ? null : dataKeys.open(placeOf('secret', row), row.sealedHookSecret)

export const accessOf = (dataKeys: DataKeys, row: RemoteRow): RemoteAccess => ({
  orgId: row.orgId,
  host: row.host,
  url: row.url,
  token: dataKeys.open(placeOf('token', row), row.sealedToken),
})

export const webhookUrl = (apiUrl: URL, { orgId, appId }: RemoteKey): string =>
  new URL(`/api/deploy/remotes/${orgId}/${appId}/calls`, apiUrl).href

export async function presentRemote(db: Handle, { apiUrl }: RemoteDeps, row: RemoteRow) {
  const [trouble] = await db
    .select({ code: pullRequests.code })
    .from(pullRequests)
    .where(
      and(
        eq(pullRequests.orgId, row.orgId),
        eq(pullRequests.appId, row.appId),
        isNotNull(pullRequests.nextAt),
        isNotNull(pullRequests.code),
      ),
    )
    .orderBy(desc(pullRequests.id))
    .limit(1)
  return {
    host: row.host,
    url: row.url,
    is_public: row.isPublic,
    excess: row.excess.map((right) => ({ right, text: RIGHTS[right] })),
    trouble: trouble?.code ?? null,
    webhook_url: webhookUrl(apiUrl, row),
    webhook_secret: row.sealedHookSecret !== null,
    set_by: row.setBy,
    set_at: row.setAt.toISOString(),
  }
}
