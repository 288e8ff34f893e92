/** What each host does in its own words; `index.ts` has the order, which is the same for all. */
import type { RightName } from '../../contracts/git-hosts.ts'
import type { ProposedBranch } from '../../cores/remotes/git-host-port.ts'

export type Repository = {
  readonly defaultBranch: string
  readonly isArchived: boolean
  readonly isEmpty: boolean
  /** Others than its members may read it, or the host does not say. */
  readonly isPublic: boolean
}

/** A request as the host has it. */
export type HostRequest = {
  readonly number: number
  readonly state: 'open' | 'merged' | 'closed'
  readonly branch: string
  readonly target: string
  /** The commit that its branch is or was at. */
  readonly head: string | undefined
  /** Whether its branch is in this repository: anybody may ask from a fork, with a branch of any name. */
  readonly isFromHere: boolean
}

export type HostDriver = {
  repository(): Promise<Repository>
  /** What the token lacks, and what it has too much. Changes nothing. */
  rights(): Promise<{ readonly missing: readonly RightName[]; readonly excess: readonly RightName[] }>
  /** By their branch, open or not; more than were asked for, where the host cannot choose. */
  listRequests(branch: string, target: string): Promise<readonly HostRequest[]>
  /** Whether a commit is this change and nothing else. */
  holdsChange(proposed: ProposedBranch, commit: string): Promise<boolean>
  /** The commit that a branch is at; undefined: there is no such branch. */
  findTip(branch: string): Promise<string | undefined>
  /** The name of a file's content at a commit; undefined: there is no such file. */
  blobAt(path: string, commit: string): Promise<string | undefined>
  /** One commit on a new branch. */
  commit(proposed: ProposedBranch, target: { readonly branch: string; readonly tip: string }): Promise<void>
  request(proposed: ProposedBranch, target: string): Promise<number>
  look(number: number): Promise<HostRequest>
  pageOf(number: number): string
}
