/** What the remotes core exports. */
export type { GitHosts, WithGitHosts } from './git-host-port.ts'
export {
  findPullRequest,
  presentPullRequest,
  readPullRequests,
  requestPullRequest,
  unwatch,
  watchAgain,
  type PullRequestRow,
} from './pull-request-rows.ts'
export { lockRemote, type RemoteDeps } from './remote-rows.ts'
export {
  claimPullRequest,
  settlePullRequest,
  workPullRequest,
  type PullRequestDeps,
} from './work-pull-requests.ts'
