/** Sets or changes the remote of an app, once its token was tried. Pull requests at another repository are given up. */
import { appRemotes } from '../../../db/schema.ts'
import { ServiceError } from '../../contracts/errors.ts'
import { RIGHTS } from '../../contracts/git-hosts.ts'
import { requireAppReader } from '../apps/index.ts'
import type { WithDirectory } from '../directory/index.ts'
import { writeInSteps, type Verb } from '../verb.ts'
import type { RemoteAccess, RemoteCheck, WithGitHosts } from './git-host-port.ts'
import { giveUpPullRequests, wakePullRequests } from './pull-request-rows.ts'
import { lockRemote, presentRemote, sealToken, type RemoteDeps } from './remote-rows.ts'

export const setAppRemote: Verb<'setAppRemote', WithDirectory & RemoteDeps & WithGitHosts> = writeInSteps(
  { author: 'admin', audit: 'app.remote_set', events: 'application.maintenance.proposal.failed' },
  async (context, { alias, host, url, token }) => {
    const { db, clock, member, directory, gitHosts, dataKeys, transaction } = context
    // Before the host is asked: an app of another organization is not there.
    const { orgId, id: appId } = await requireAppReader(directory, db, member, alias)
    const { excess, isPublic } = await requireRights(gitHosts.check, { orgId, host, url, token })
    return transaction(async ({ tx, userId, audit }) => {
      const before = await lockRemote(tx, { orgId, appId }, 'update')
      const isSame = before?.host === host && before.url === url
      const set = {
        host,
        url,
        sealedToken: sealToken(dataKeys, { orgId, appId, host, url }, token),
        // It is sealed for the address that it was made for.
        sealedHookSecret: isSame ? before.sealedHookSecret : null,
        excess,
        isPublic,
        setById: userId,
        setBy: member.userName,
        setAt: clock(),
      }
      const [row] = await tx
        .insert(appRemotes)
        .values({ orgId, appId, ...set })
        .onConflictDoUpdate({ target: [appRemotes.orgId, appRemotes.appId], set })
        .returning()
      if (before && !isSame) await giveUpPullRequests(tx, clock, { orgId, appId })
      else await wakePullRequests(tx, clock, { orgId, appId })
      await audit('app.remote_set', `${alias}: ${url}`)
      return presentRemote(tx, context, row!)
    })
  },
)

const PROBLEMS = {
  address_refused: 'url: is no address that svc may send to',
  token_refused: 'token: the host does not accept it',
  not_found: 'url: there is no such repository, or the token may not see it',
  archived: 'url: the repository is archived',
  empty: 'url: the repository is empty',
  unreadable: 'host: what answers there does not answer as this host does',
} as const satisfies Partial<Record<RemoteCheck['kind'], string>>

async function requireRights(
  check: (remote: RemoteAccess) => Promise<RemoteCheck>,
  remote: RemoteAccess,
): Promise<Extract<RemoteCheck, { kind: 'fits' }>> {
  const checked = await check(remote)
  if (checked.kind === 'fits') return checked
  if (checked.kind === 'not_reached') {
    throw new ServiceError('TIMEOUT', 'The git host did not answer', {
      hint: 'Check the address and try again.',
    })
  }
  const problems =
    checked.kind === 'missing'
      ? checked.rights.map((right) => `token: lacks ${RIGHTS[right]}`)
      : [PROBLEMS[checked.kind]]
  throw new ServiceError('INVALID_REQUEST', 'The remote cannot be used', { problems })
}
