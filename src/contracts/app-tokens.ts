/** Tokens of an app: for its logs and workers, or for its runner. They stay when whoever made them leaves. */
import * as z from 'zod'
import { appAlias } from './apps.ts'
import { field } from './field.ts'
import { DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { PreviousValue, ROTATION_NOTES, rotationInput } from './rotation.ts'
import { APP_SCOPES } from './scopes.ts'

const AppToken = z.object({
  id: z.string(),
  name: z.string(),
  scope: z.enum(APP_SCOPES),
  starts_with: z.string().describe('The first characters, to tell tokens apart.'),
  created_by: z.string().describe('Name of whoever made it.'),
  created_at: Time,
  last_used_at: Time.nullable(),
  previous: PreviousValue,
})

const NewAppToken = AppToken.extend({ token: z.string().describe('Store it now: it is not returned again.') })

const appTokens = {
  service: 'deploy-api',
  access: 'viewer',
  errors: ['NOT_FOUND'],
  closedToSupport: true,
} as const

export const createAppToken = creating({
  ...appTokens,
  name: 'createAppToken',
  summary: 'Create a token of an app. Its value is returned once.',
  input: z.object({
    ...appAlias,
    scope: field(z.enum(APP_SCOPES), {
      client: {
        summary: 'apps:report for logs and workers, apps:run for a runner',
        missing: { hint: 'Use apps:report for logs and workers, apps:run for a runner' },
      },
    }),
    name: DisplayName,
  }),
  output: NewAppToken,
  errors: ['NOT_FOUND', 'CONFLICT'],
  closedToCliSessions: true,
  command: {
    path: 'apps tokens create',
    summary: 'Create a token for programs of an app; it stays when you leave',
    fields: 'id, name, scope, token',
    notes: ['Store the token now: it is not shown again.'],
    examples: ['svc apps tokens create billing --scope apps:report --name collector'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/tokens', success: 201 },
})

export const listAppTokens = reading({
  ...appTokens,
  name: 'listAppTokens',
  summary: 'List the tokens of an app.',
  input: z.object({ ...appAlias, ...pageInput }),
  output: z.object({ tokens: z.array(AppToken), ...pageOutput }),
  command: {
    path: 'apps tokens',
    table:
      'TOKEN=id, name, scope, starts_with, created_by, last_used_at, OLD VALUE UNTIL=previous.works_until, OLD VALUE USED=previous.last_used_at',
    examples: ['svc apps tokens billing'],
  },
  http: { method: 'get', path: '/api/deploy/apps/{alias}/tokens' },
})

export const rotateAppToken = creating({
  ...appTokens,
  name: 'rotateAppToken',
  summary: 'Give a token of an app a new value, which is returned once. What it may do stays.',
  input: z.object({ ...appAlias, token_id: Id('apt'), ...rotationInput }),
  output: NewAppToken,
  closedToCliSessions: true,
  command: {
    path: 'apps tokens rotate',
    summary: 'Give a token of an app a new value; the old one works for a day, or as long as you say',
    fields: 'id, name, scope, token',
    notes: ROTATION_NOTES,
    examples: ['svc apps tokens rotate billing apt_0mwhkcyh5nlh1pqqssy5gj19q --overlap 48'],
  },
  http: { method: 'post', path: '/api/deploy/apps/{alias}/tokens/{token_id}/rotate' },
})

export const revokeAppToken = removing({
  ...appTokens,
  name: 'revokeAppToken',
  summary: 'Revoke a token of an app.',
  input: z.object({ ...appAlias, token_id: Id('apt') }),
  output: Nothing,
  command: {
    path: 'apps tokens revoke',
    confirm: 'This revokes {token_id}. Whatever uses it stops reporting.',
    done: 'Revoked {token_id}',
    examples: ['svc apps tokens revoke billing apt_0mwhkcyh5nlh1pqqssy5gj19q'],
  },
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/tokens/{token_id}', success: 204 },
})
