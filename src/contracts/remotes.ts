/** The git remote of an app: where approved proposals become pull requests. Its token goes in and is never returned. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { Nothing, Secret, Time } from './fields.ts'
import { GIT_HOSTS, NEEDED_RIGHTS, PULL_REQUEST_CODE_NAMES, RIGHT_NAMES, RIGHTS } from './git-hosts.ts'
import { Id } from './ids.ts'
import { REMOTE_CALL_MAX_BYTES } from './limits.ts'
import { creating, reading, removing, updating } from './operation.ts'

const rightsOf = (host: keyof typeof NEEDED_RIGHTS): string =>
  NEEDED_RIGHTS[host].map((right) => RIGHTS[right]).join(', ')

const Host = field(z.enum(GIT_HOSTS), { label: 'Host', client: 'Where the repository is' })
const RepositoryUrl = field(
  z
    .string()
    .trim()
    .max(500)
    .transform((url) => url.replace(/(?:\.git)?\/*$/, ''))
    .refine(
      (url) =>
        URL.canParse(url) &&
        /^https?:\/\/[^/?#@\\\s]+(?:\/[\w.-]+){2,20}$/.test(url) &&
        !/\/\.{1,2}(?:\/|$)/.test(url),
      'must be the address of a repository such as https://github.com/acme/shop',
    ),
  {
    label: 'Repository',
    example: 'https://github.com/acme/shop',
    hint: 'As the browser shows it. Its files must be those that are pushed to the app.',
    client: { value: 'url', summary: 'Of the repository, such as https://github.com/acme/shop' },
  },
)
const Token = field(Secret, {
  label: 'Token',
  isSecret: true,
  hint: `Stored encrypted and never shown again. It needs, for GitHub a fine-grained token for this repository with ${rightsOf('github')}; for GitLab a project token with ${rightsOf('gitlab')}; for Gitea and Forgejo a token with ${rightsOf('gitea')}. No more.`,
  client: {
    value: 'token',
    stdin: 'the token',
    summary: 'With - it is read from stdin, which keeps it out of the history',
  },
})

const Remote = z.object({
  host: z.enum(GIT_HOSTS),
  url: z.string(),
  is_public: z
    .boolean()
    .describe(
      'Others than its members may read the repository: pull requests there have only the link, and nothing that was read.',
    ),
  excess: z
    .array(z.object({ right: z.enum(RIGHT_NAMES), text: z.string() }))
    .describe('What the token may do and need not, as far as the host tells.'),
  trouble: z
    .enum(PULL_REQUEST_CODE_NAMES)
    .nullable()
    .describe('Why a pull request could not be opened or looked at the last time; null: none.'),
  webhook_url: z.string().describe('Where the host may tell of changes; svc looks by itself as well.'),
  webhook_secret: z.boolean().describe('Whether there is a secret to sign them with.'),
  set_by: z.string(),
  set_at: Time,
})

const remotes = { service: 'deploy-api', errors: ['NOT_FOUND'] } as const
const changes = { ...remotes, access: 'admin', closedToSupport: true } as const
const REMOTE_FIELDS =
  'host, url, public=is_public, needless rights=excess.text?, trouble?, webhook=webhook_url, webhook secret=webhook_secret, set by=set_by, set_at'

export const showAppRemote = reading({
  ...remotes,
  access: 'viewer',
  name: 'showAppRemote',
  summary: 'Retrieve the git remote of an app.',
  input: z.object(appAlias),
  output: z.object({ remote: Remote.nullable().describe('null: approved proposals are deployed.') }),
  command: {
    path: 'apps remote show',
    summary: 'Show where approved proposals of an app become pull requests',
    fields:
      "host=remote.host|'none', url=remote.url?, public=remote.is_public?, needless rights=remote.excess.text?, trouble=remote.trouble?, webhook=remote.webhook_url?, set by=remote.set_by?, set at=remote.set_at?",
    listedBy: 'apps list',
    examples: ['svc apps remote show shop'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/remote' },
})

export const setAppRemote = updating({
  ...changes,
  name: 'setAppRemote',
  summary:
    'Set or change the git remote of an app. Approved proposals open a pull request there, instead of being deployed. The token is tried first.',
  // It lets in a credential of somebody's choice, but answers with none, and opens nothing of ours.
  input: z.object({ ...appAlias, host: Host, url: RepositoryUrl, token: Token }),
  output: Remote,
  errors: ['NOT_FOUND', 'TIMEOUT'],
  command: {
    path: 'apps remote set',
    summary: 'Let approved proposals of an app become pull requests at a git host (admin or higher)',
    fields: REMOTE_FIELDS,
    listedBy: 'apps list',
    examples: [
      'svc apps remote set shop --host github --url https://github.com/acme/shop --token - < token.txt',
    ],
  },
  http: { method: 'put', path: '/api/deploy/apps/{alias}/remote' },
})

export const removeAppRemote = removing({
  ...changes,
  name: 'removeAppRemote',
  summary:
    'Remove the git remote of an app. Pull requests stay at the host; those that are not merged are not watched any more, and their proposals fail.',
  input: z.object(appAlias),
  output: Nothing,
  command: {
    path: 'apps remote remove',
    summary: 'Remove the git remote of an app; approved proposals are deployed again (admin or higher)',
    confirm: 'This removes the remote of {alias}. Open pull requests are not watched any more.',
    done: 'Removed the remote of {alias}',
    listedBy: 'apps list',
    examples: ['svc apps remote remove shop --yes'],
  },
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/remote', success: 204 },
})

export const createRemoteSecret = creating({
  ...changes,
  name: 'createRemoteSecret',
  closedToCliSessions: true,
  summary:
    'Make the secret that the host signs its calls with. It is returned once, and the one before ends.',
  input: z.object(appAlias),
  output: z.object({
    url: z.string(),
    secret: z.string().describe('Store it now: it is not returned again.'),
  }),
  command: {
    path: 'apps remote secret',
    summary: 'Make the secret of the host’s webhook; it is shown once (admin or higher)',
    fields: 'url, secret',
    notes: ['Store the secret now: it is not shown again.'],
    listedBy: 'apps list',
    examples: ['svc apps remote secret shop'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/remote/secret', success: 201 },
})

const Signature = z.string().max(200).optional()

export const receiveRemoteCall = updating({
  ...remotes,
  access: 'anyone',
  name: 'receiveRemoteCall',
  summary:
    'A webhook of a git host, signed with the secret of the remote. It only makes svc look at the pull requests of the app now; nothing of its body is believed.',
  input: z.object({
    org_id: Id('org'),
    app_id: Id('app'),
    body: z.instanceof(Uint8Array),
    sha256_signature: Signature.describe('GitHub: an HMAC with SHA-256, as `sha256=` and hex.'),
    gitea_signature: Signature.describe('Gitea and Forgejo: the same as hex.'),
    gitlab_token: Signature.describe('GitLab: the secret itself.'),
  }),
  output: Nothing,
  http: {
    method: 'post',
    path: '/api/deploy/remotes/{org_id}/{app_id}/calls',
    success: 204,
    takes: { type: 'application/json', maxBytes: REMOTE_CALL_MAX_BYTES },
    headers: {
      sha256_signature: 'x-hub-signature-256',
      gitea_signature: 'x-gitea-signature',
      gitlab_token: 'x-gitlab-token',
    },
  },
})
