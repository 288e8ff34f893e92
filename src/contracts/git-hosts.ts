/** The hosts of git remotes, what a token needs there, and what becomes of a pull request. Plain constants: the client `svc` loads this file and no zod. */

export const GIT_HOSTS = ['github', 'gitlab', 'gitea', 'forgejo'] as const
export type GitHostName = (typeof GIT_HOSTS)[number]

export const GIT_HOST_LABELS: Readonly<Record<GitHostName, string>> = {
  github: 'GitHub',
  gitlab: 'GitLab',
  gitea: 'Gitea',
  forgejo: 'Forgejo',
}

/** Rights as their hosts name them: those that are needed, and those that a token had better not have. */
export const RIGHTS = {
  contents_write: 'Contents: read and write',
  pull_requests_write: 'Pull requests: read and write',
  repository_push: 'write access to the repository',
  developer_role: 'the role Developer in the project',
  api_scope: 'the scope api',
  repository_scope: 'the scope write:repository',
  classic_token: 'a classic token, which opens every repository of its user',
  admin_scopes: 'scopes that administer',
  workflow_scope: 'the scope workflow',
  other_scopes: 'scopes that are not needed',
  maintainer_role: 'the role Maintainer or Owner in the project',
  user_scope: 'scopes of the user’s account',
} as const
export type RightName = keyof typeof RIGHTS
export const RIGHT_NAMES = Object.keys(RIGHTS) as [RightName, ...RightName[]]

/** No more than these. */
export const NEEDED_RIGHTS = {
  github: ['contents_write', 'pull_requests_write'],
  gitlab: ['developer_role', 'api_scope'],
  gitea: ['repository_push', 'repository_scope'],
  forgejo: ['repository_push', 'repository_scope'],
} as const satisfies Record<GitHostName, readonly RightName[]>

export const PULL_REQUEST_STATES = ['opening', 'open', 'merged', 'closed', 'failed'] as const
export type PullRequestState = (typeof PULL_REQUEST_STATES)[number]

/** Why a pull request failed, or was not opened or looked at the last time. */
export const PULL_REQUEST_CODES = {
  CLOSED_UPSTREAM: 'The pull request was closed without being merged',
  CHANGED_UPSTREAM: 'Merged with other lines: what was pushed since does not have those of the proposal',
  UPSTREAM_DIFFERS: 'The files are not in the repository as they are in the head: push it, and retry',
  BRANCH_TAKEN: 'The branch is there already, with something else in it',
  REMOTE_REFUSED: 'The host refused the token, or what it was asked for',
  REMOTE_UNREACHABLE: 'The host could not be reached',
  REMOTE_UNREADABLE: 'The host’s answer could not be read',
  REMOTE_REMOVED: 'The remote was removed, or is another one now',
} as const
export type PullRequestCode = keyof typeof PULL_REQUEST_CODES
export const PULL_REQUEST_CODE_NAMES = Object.keys(PULL_REQUEST_CODES) as [
  PullRequestCode,
  ...PullRequestCode[],
]
