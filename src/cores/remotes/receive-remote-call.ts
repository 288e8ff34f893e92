/**
 * A host says that something has happened. Whoever knows the secret makes us look now, no more often than every ten seconds;
 * what they say is not read.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { and, eq, isNull, lt, or } from '../../../db/drizzle.ts'
import { notify } from '../../../db/listen.ts'
import { pullRequests } from '../../../db/schema.ts'
import { notFound } from '../../contracts/errors.ts'
import type { GitHostName } from '../../contracts/git-hosts.ts'
import { write, type InputOf, type Verb } from '../verb.ts'
import { findRemote, openSecret, type RemoteDeps } from './remote-rows.ts'

type Call = InputOf<'receiveRemoteCall'>

const LOOKED_BEFORE_MS = 10_000

export const receiveRemoteCall: Verb<'receiveRemoteCall', Pick<RemoteDeps, 'dataKeys'>> = write(
  { by: 'principal' },
  async ({ tx, clock, dataKeys }, call) => {
    const remote = await findRemote(tx, { orgId: call.org_id, appId: call.app_id })
    const secret = remote ? openSecret(dataKeys, remote) : null
    // The same whether there is no app, no remote, no secret, or another one.
    if (!remote || secret === null || !IS_SIGNED[remote.host](secret, call)) throw notFound()
    const now = clock()
    await tx
      .update(pullRequests)
      .set({ nextAt: now })
      .where(
        and(
          eq(pullRequests.orgId, remote.orgId),
          eq(pullRequests.appId, remote.appId),
          eq(pullRequests.state, 'open'),
          // A host that is not well is left alone until its pause is over.
          eq(pullRequests.failures, 0),
          or(
            isNull(pullRequests.lookedAt),
            lt(pullRequests.lookedAt, new Date(now.getTime() - LOOKED_BEFORE_MS)),
          ),
        ),
      )
    await notify(tx, 'pull-requests')
    return {}
  },
)

const isEqual = (one: string, other: string | undefined): boolean => {
  const [a, b] = [Buffer.from(one), Buffer.from(other ?? '')]
  return a.length === b.length && timingSafeEqual(a, b)
}

const hmac = (secret: string, { body }: Call): string =>
  createHmac('sha256', secret).update(body).digest('hex')

const byGiteaSignature = (secret: string, call: Call): boolean =>
  isEqual(hmac(secret, call), call.gitea_signature)

const IS_SIGNED: Readonly<Record<GitHostName, (secret: string, call: Call) => boolean>> = {
  github: (secret, call) => isEqual(`sha256=${hmac(secret, call)}`, call.sha256_signature),
  gitlab: (secret, { gitlab_token }) => isEqual(secret, gitlab_token),
  gitea: byGiteaSignature,
  forgejo: byGiteaSignature,
}
