/** Apps in their smallest form: an alias, a name, and the people who build and maintain them. */
import * as z from 'zod'
import { DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { operation } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'

export const APP_ROLES = ['builder', 'maintainer'] as const
export type AppRole = (typeof APP_ROLES)[number]

const Alias = z
  .string()
  .regex(
    /^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
    'must be a lower-case letter, then up to 39 of a-z, 0-9 and -',
  )
  .describe('Stands in addresses and messages; never changes.')
export const appAlias = { alias: Alias }

const App = z.object({
  id: z.string(),
  alias: z.string(),
  name: z.string(),
  my_part: z
    .enum(['builder', 'maintainer', 'administrator'])
    .nullable()
    .describe('What you are to it; owners and admins administer every app.'),
  open_tickets: z.int().describe('Not done yet, of those you may see.'),
  created_at: Time,
})

const AppMember = z.object({ user_id: z.string(), name: z.string(), role: z.enum(APP_ROLES), added_at: Time })

const apps = {
  service: 'deploy-api',
  scope: null,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
} as const
const reads = { readOnly: true, destructive: false, idempotent: true } as const
const sets = { readOnly: false, destructive: false, idempotent: true } as const

export const createApp = operation({
  ...apps,
  ...sets,
  idempotent: false,
  takesIdempotencyKey: true,
  name: 'apps.create',
  summary: 'Make an app; you become its maintainer.',
  input: z.object({ ...appAlias, name: DisplayName }),
  output: App,
  who: 'developer',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT'],
  http: { method: 'post', path: '/api/deploy/apps', success: 201 },
})

export const listApps = operation({
  ...apps,
  ...reads,
  name: 'apps.list',
  summary: 'List the apps of the organization.',
  input: z.object({
    search: z.string().trim().max(120).optional().describe('Only those whose alias or name contains this.'),
    mine: z.stringbool().default(false).describe('Only those you build or maintain.'),
    ...pageInput,
  }),
  output: z.object({ apps: z.array(App), ...pageOutput }),
  who: 'viewer',
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/deploy/apps' },
})

export const showApp = operation({
  ...apps,
  ...reads,
  name: 'apps.show',
  summary: 'Show one app and who builds and maintains it.',
  input: z.object(appAlias),
  output: App.extend({ members: z.array(AppMember) }),
  who: 'viewer',
  http: { method: 'get', path: '/api/deploy/apps/{alias}' },
})

export const renameApp = operation({
  ...apps,
  ...sets,
  name: 'apps.rename',
  summary: 'Rename an app; its maintainers, owners and admins.',
  input: z.object({ ...appAlias, name: DisplayName }),
  output: App,
  who: 'viewer',
  http: { method: 'patch', path: '/api/deploy/apps/{alias}' },
})

export const setAppMember = operation({
  ...apps,
  ...sets,
  name: 'apps.setMember',
  summary:
    'Make a member of the organization builder or maintainer of an app; its maintainers, owners and admins.',
  input: z.object({ ...appAlias, user_id: Id('usr'), role: z.enum(APP_ROLES) }),
  output: AppMember,
  who: 'viewer',
  http: { method: 'put', path: '/api/deploy/apps/{alias}/members/{user_id}' },
})

export const removeAppMember = operation({
  ...apps,
  ...sets,
  destructive: true,
  name: 'apps.removeMember',
  summary: 'Take a builder or maintainer off an app; oneself always.',
  input: z.object({ ...appAlias, user_id: Id('usr') }),
  output: Nothing,
  who: 'viewer',
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/members/{user_id}', success: 204 },
})
