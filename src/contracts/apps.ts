/** Apps: an alias, a name, and the people who build and maintain them. */
import * as z from 'zod'
import { field } from './field.ts'
import { DisplayName, Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'

export const APP_ROLES = ['builder', 'maintainer'] as const
export type AppRole = (typeof APP_ROLES)[number]

const Alias = field(
  z
    .string()
    .regex(
      /^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
      'must be a lowercase letter, then up to 39 of a-z, 0-9 and -',
    )
    .describe('Part of URLs and messages; it never changes.'),
  { maxLength: 40 },
)
const NewAlias = field(Alias, {
  hint: 'Lowercase letters, digits and hyphens. Used in URLs; cannot be changed later.',
  client: 'Lowercase letter, then up to 39 of a-z, 0-9 and -',
})
export const appAlias = {
  alias: field(Alias, { client: { flag: 'app', summary: 'Alias, from `svc apps list`', values: 'apps' } }),
}

export const App = z.object({
  id: z.string(),
  alias: z.string(),
  name: z.string(),
  my_role: z
    .enum(['builder', 'maintainer', 'administrator'])
    .nullable()
    .describe('Your role on it; owners and admins administer every app.'),
  open_tickets: z.int().describe('Tickets you may see that are not done.'),
  created_at: Time,
})

const AppMember = z.object({ user_id: z.string(), name: z.string(), role: z.enum(APP_ROLES), added_at: Time })

const APP_TABLE = 'APP=alias, name, YOUR ROLE=my_role, open_tickets'

export const createApp = creating({
  service: 'deploy-api',
  takesIdempotencyKey: true,
  name: 'createApp',
  summary: 'Create an app. You become its maintainer.',
  input: z.object({
    alias: NewAlias,
    name: field(DisplayName, {
      client: { default: '{alias}', summary: 'Display name (default: the alias)' },
    }),
  }),
  output: App,
  access: 'developer',
  errors: ['CONFLICT'],
  command: {
    path: 'apps create',
    summary: 'Create an app and become its maintainer (developer or higher)',
    arguments: ['alias'],
    table: APP_TABLE,
    examples: ['svc apps create billing --name "Billing"'],
  },
  http: { method: 'post', path: '/api/deploy/apps', success: 201 },
})

export const listApps = reading({
  service: 'deploy-api',
  name: 'listApps',
  scope: 'maintenance:read',
  summary: 'List apps.',
  input: z.object({
    search: z.string().trim().max(120).optional().describe('Part of the alias or name.'),
    mine: z.stringbool().default(false).describe('Only apps that you build or maintain.'),
    ...countedPageInput,
  }),
  output: z.object({ apps: z.array(App), ...countedPageOutput }),
  access: 'viewer',
  command: {
    path: 'apps list',
    table: APP_TABLE,
    examples: ['svc apps list', 'svc apps list --mine --json'],
  },
  http: { method: 'get', path: '/api/deploy/apps' },
})

export const showApp = reading({
  service: 'deploy-api',
  name: 'showApp',
  scope: 'maintenance:read',
  summary: 'Retrieve an app and its members.',
  input: z.object(appAlias),
  output: App.extend({ members: z.array(AppMember) }),
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'get', path: '/api/deploy/apps/{alias}' },
})

export const renameApp = updating({
  service: 'deploy-api',
  name: 'renameApp',
  summary: 'Rename an app. Requires its maintainer, an admin or an owner.',
  input: z.object({ ...appAlias, name: DisplayName }),
  output: App,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'patch', path: '/api/deploy/apps/{alias}' },
})

export const setAppMember = updating({
  service: 'deploy-api',
  name: 'setAppMember',
  summary: 'Add a member to an app, or change their role on it.',
  input: z.object({ ...appAlias, user_id: Id('usr'), role: z.enum(APP_ROLES) }),
  output: AppMember,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: '/api/deploy/apps/{alias}/members/{user_id}' },
})

export const removeAppMember = removing({
  service: 'deploy-api',
  name: 'removeAppMember',
  summary: 'Remove a member from an app, or leave it.',
  input: z.object({ ...appAlias, user_id: Id('usr') }),
  output: Nothing,
  access: 'viewer',
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/deploy/apps/{alias}/members/{user_id}', success: 204 },
})
