/** The port of git hosts: what an adapter is given, and what it answers. What a pull request says is decided in the core. */
import type { GitHostName, PullRequestCode, RightName } from '../../contracts/git-hosts.ts'

export type RemoteAccess = {
  readonly orgId: string
  readonly host: GitHostName
  readonly url: string
  readonly token: string
}

/** Of one file: what it is upstream now, and what it becomes; null where it is not there. */
export type ProposedContent = {
  readonly path: string
  readonly before: Buffer | null
  readonly after: Buffer | null
  readonly isExecutable: boolean
}

export type ProposedBranch = {
  /** The same for the same attempt, so that whoever repeats it finds what is there. */
  readonly branch: string
  readonly message: string
  readonly title: string
  readonly body: string
  /** Instead of it where others than its members read the repository. */
  readonly publicBody: string
  readonly files: readonly ProposedContent[]
}

/** Codes of ours: no word of the host's leaves the adapter. */
export type Failed = {
  readonly kind: 'failed'
  readonly code: PullRequestCode
  /** What the host asks us to wait. */
  readonly retryAfterSeconds?: number | undefined
}

export type RemoteCheck =
  | { readonly kind: 'fits'; readonly excess: readonly RightName[]; readonly isPublic: boolean }
  | { readonly kind: 'missing'; readonly rights: readonly RightName[] }
  | {
      readonly kind:
        | 'address_refused'
        | 'token_refused'
        | 'not_found'
        | 'archived'
        | 'empty'
        | 'not_reached'
        | 'unreadable'
    }

export type GitHosts = {
  /** Whether the token may do what is needed there. Changes nothing. */
  readonly check: (remote: RemoteAccess) => Promise<RemoteCheck>
  /** Opens it, or finds the one that an earlier attempt has opened. */
  readonly open: (
    remote: RemoteAccess,
    proposed: ProposedBranch,
  ) => Promise<
    | { readonly kind: 'opened'; readonly number: number; readonly url: string; readonly isPublic: boolean }
    | Failed
  >
  readonly look: (
    remote: RemoteAccess,
    request: { readonly number: number; readonly branch: string },
  ) => Promise<{ readonly kind: 'seen'; readonly state: 'open' | 'merged' | 'closed' } | Failed>
}

export type WithGitHosts = { readonly gitHosts: GitHosts }
