/** What each host does in its own words; `index.ts` has the order, which is the same for all. */
import type { RightName } from '../../contracts/git-hosts.ts'
import type { ProposedBranch } from '../../cores/remotes/git-host-port.ts'

export type Repository = {
  readonly defaultBranch: string
  readonly isArchived: boolean
  readonly isEmpty: boolean
}

export type HostDriver = {
  repository(): Promise<Repository>
  /** What the token lacks, and what it has too much. Changes nothing. */
  rights(): Promise<{ readonly missing: readonly RightName[]; readonly excess: readonly RightName[] }>
  /** By its branch, open or not. */
  findRequest(branch: string, target: string): Promise<number | undefined>
  /** Whether what is on the branch is this change and nothing else; undefined: there is no such branch. */
  holdsChange(proposed: ProposedBranch): Promise<boolean | undefined>
  /** The commit that a branch is at. */
  tipOf(branch: string): Promise<string>
  /** The name of a file's content at a commit; undefined: there is no such file. */
  blobAt(path: string, commit: string): Promise<string | undefined>
  /** One commit on a new branch. */
  commit(proposed: ProposedBranch, target: { readonly branch: string; readonly tip: string }): Promise<void>
  request(proposed: ProposedBranch, target: string): Promise<number>
  look(number: number): Promise<'open' | 'merged' | 'closed'>
  pageOf(number: number): string
}
