/** The git hosts: one order of steps for all of them, and a driver for each. */
import type { GitHostName } from '../../contracts/git-hosts.ts'
import type {
  Failed,
  GitHosts,
  ProposedBranch,
  RemoteAccess,
  RemoteCheck,
} from '../../cores/remotes/git-host-port.ts'
import type { GuardedPost } from '../outbound/guarded-post.ts'
import { gitea } from './gitea.ts'
import { github } from './github.ts'
import { gitlab } from './gitlab.ts'
import { HostFailed, isBlob } from './host-api.ts'
import type { HostDriver } from './host-driver.ts'

const DRIVERS: Readonly<Record<GitHostName, (send: GuardedPost, remote: RemoteAccess) => HostDriver>> = {
  github,
  gitlab,
  gitea,
  forgejo: gitea,
}

export function gitHosts(send: GuardedPost): GitHosts {
  const driverOf = (remote: RemoteAccess) => DRIVERS[remote.host](send, remote)
  return {
    check: (remote) => checkRemote(() => driverOf(remote)),
    open: (remote, proposed) =>
      failing(async () => {
        const host = driverOf(remote)
        const { number, isPublic } = await openOrFind(host, proposed)
        return { kind: 'opened' as const, number, url: host.pageOf(number), isPublic }
      }),
    look: (remote, request) =>
      failing(async () => ({ kind: 'seen' as const, state: await lookAt(driverOf(remote), request) })),
  }
}

/** Each step may have been done by somebody who died after it: what is there is found, and nothing is done twice. */
async function openOrFind(
  host: HostDriver,
  proposed: ProposedBranch,
): Promise<{ readonly number: number; readonly isPublic: boolean }> {
  const { branch } = proposed
  const { defaultBranch, isPublic } = await host.repository()
  if (branch === defaultBranch) throw new HostFailed('BRANCH_TAKEN')
  const requests = await host.listRequests(branch, defaultBranch)
  const found = requests.find(
    (one) => one.isFromHere && one.branch === branch && one.target === defaultBranch,
  )
  // Its branch may be gone already: by its commit it is known.
  const made = found?.head ?? (await host.findTip(branch))
  if (made !== undefined && !(await host.holdsChange(proposed, made))) throw new HostFailed('BRANCH_TAKEN')
  if (found) return { number: found.number, isPublic }
  if (made === undefined) {
    const tip = await host.findTip(defaultBranch)
    if (tip === undefined) throw new HostFailed('REMOTE_REFUSED', { status: 404 })
    await requireSame(host, proposed, tip)
    await host.commit(proposed, { branch: defaultBranch, tip })
  }
  const body = isPublic ? proposed.publicBody : proposed.body
  return { number: await host.request({ ...proposed, body }, defaultBranch), isPublic }
}

/** One that is not ours any more, or went elsewhere, was not merged. */
async function lookAt(
  host: HostDriver,
  { number, branch }: { readonly number: number; readonly branch: string },
): Promise<'open' | 'merged' | 'closed'> {
  const seen = await host.look(number)
  if (!seen.isFromHere || seen.branch !== branch) return 'closed'
  if (seen.state !== 'merged') return seen.state
  return seen.target === (await host.repository()).defaultBranch ? 'merged' : 'closed'
}

/** Whole files are written: what somebody has changed upstream must not be lost by it. */
async function requireSame(host: HostDriver, { files }: ProposedBranch, tip: string): Promise<void> {
  for (const { path, before } of files) {
    if (!isBlob(before, await host.blobAt(path, tip))) throw new HostFailed('UPSTREAM_DIFFERS')
  }
}

async function checkRemote(driver: () => HostDriver): Promise<RemoteCheck> {
  try {
    const host = driver()
    const { isArchived, isEmpty, isPublic } = await host.repository()
    if (isArchived) return { kind: 'archived' }
    if (isEmpty) return { kind: 'empty' }
    const { missing, excess } = await host.rights()
    return missing.length > 0 ? { kind: 'missing', rights: missing } : { kind: 'fits', excess, isPublic }
  } catch (error) {
    if (!(error instanceof HostFailed)) throw error
    if (error.isAddressRefused) return { kind: 'address_refused' }
    if (error.code === 'REMOTE_UNREACHABLE') return { kind: 'not_reached' }
    if (error.status === 401) return { kind: 'token_refused' }
    if (error.status === 403 || error.status === 404) return { kind: 'not_found' }
    return { kind: 'unreadable' }
  }
}

async function failing<T>(work: () => Promise<T>): Promise<T | Failed> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof HostFailed)) throw error
    const { code, retryAfterSeconds } = error
    return { kind: 'failed', code, retryAfterSeconds }
  }
}
