/** SCIM 2.0: the directory of an organization says who its people are and what groups they are in. */
import * as z from 'zod'
import { field } from './field.ts'
import { Nothing, Time } from './fields.ts'
import { Id } from './ids.ts'
import { creating, reading, removing, updating } from './operation.ts'
import { countedPageInput, countedPageOutput } from './paging.ts'
import { PreviousValue, rotationInput } from './rotation.ts'

/** Where a directory sends its requests. The paths and bodies below it are those of RFC 7644. */
export const SCIM_PATH = '/scim/v2'

/** Roles that a group can give: never owner. */
export const SCIM_ROLES = ['viewer', 'developer', 'admin'] as const
export type ScimRole = (typeof SCIM_ROLES)[number]

export const SignInProvider = z.object({
  name: z.string(),
  title: z.string(),
  issuer: z
    .string()
    .nullable()
    .describe('null: it has one for each tenant, and the tenant is named when SCIM is set up.'),
})

const scim = { service: 'auth-service', access: 'owner' } as const
/** Closed to support staff: what it opens outlasts their session. */
const changing = { ...scim, closedToSupport: true } as const
const path = '/api/v1/scim'

const ScimBearer = z.object({
  id: z.string(),
  provider: z.string().describe('The sign-in provider that provisioned people sign in with.'),
  issuer: z.string().describe('Its issuer. Nobody is bound to another one.'),
  starts_with: z.string().describe('The first characters of the bearer.'),
  created_by: z.string().describe('Name of whoever made it.'),
  created_at: Time,
  last_used_at: Time.nullable(),
  previous: PreviousValue,
})

const NewScimBearer = ScimBearer.extend({
  base_url: z.string(),
  token: z.string().describe('Store it now: it is not returned again.'),
})

export const showScim = reading({
  ...scim,
  name: 'showScim',
  summary: 'Show how the directory of the organization provisions people, and what to enter there.',
  input: z.object({}),
  output: z.object({
    base_url: z.string().describe('What the directory asks for as tenant URL or base URL.'),
    domains: z.array(z.string()).describe('Only people with an address in one of these are accepted.'),
    providers: z.array(SignInProvider).describe('Sign-in providers of this installation.'),
    bearer: ScimBearer.nullable().describe('null: SCIM is not set up.'),
    people: z.object({
      active: z.int(),
      inactive: z.int(),
      waiting: z.int().describe('Active, and not signed in since they were provisioned.'),
    }),
  }),
  http: { method: 'get', path },
})

export const createScimBearer = creating({
  ...changing,
  name: 'createScimBearer',
  summary: 'Set up SCIM: create the bearer of the organization. Its value is returned once.',
  input: z.object({
    provider: field(z.string().min(1).max(40), {
      label: 'Sign-in provider',
      hint: 'Provisioned people sign in with it, and with no other one.',
    }),
    tenant: field(
      z
        .string()
        .trim()
        .toLowerCase()
        .max(36)
        .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be the ID of a tenant'),
      {
        label: 'Tenant ID',
        hint: 'Of Microsoft Entra. Others have none.',
      },
    )
      .optional()
      .describe('Of a provider that has an issuer for each tenant.'),
  }),
  output: NewScimBearer,
  errors: ['CONFLICT'],
  closedToCliSessions: true,
  http: { method: 'post', path, success: 201 },
})

export const rotateScimBearer = creating({
  ...changing,
  name: 'rotateScimBearer',
  summary: 'Give the SCIM bearer a new value, which is returned once.',
  input: z.object({ ...rotationInput }),
  output: NewScimBearer,
  errors: ['NOT_FOUND'],
  closedToCliSessions: true,
  http: { method: 'post', path: `${path}/rotate` },
})

export const revokeScimBearer = removing({
  ...changing,
  name: 'revokeScimBearer',
  summary: 'Remove SCIM: revoke the bearer. People, roles and groups stay as they are.',
  input: z.object({}),
  output: z.object({
    members: z.int().describe('Provisioned people who stay members. From now on you remove them yourself.'),
    waiting: z.int().describe('Provisioned people who had not signed in yet, and now come in no more.'),
  }),
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path },
})

const ProvisionedGroup = z.object({
  id: z.string(),
  name: z.string(),
  external_id: z.string().nullable(),
  people: z.int().describe('Provisioned people in it.'),
  role: z.enum(SCIM_ROLES).nullable().describe('What it gives those in it; null: none.'),
})

export const listProvisionedGroups = reading({
  ...scim,
  name: 'listProvisionedGroups',
  summary: 'List the groups that the directory fills, with the roles they give.',
  input: z.object({ ...countedPageInput }),
  output: z.object({ groups: z.array(ProvisionedGroup), ...countedPageOutput }),
  http: { method: 'get', path: `${path}/groups` },
})

export const setGroupRole = updating({
  ...changing,
  name: 'setGroupRole',
  summary: 'Set the role that a group of the directory gives. Owners keep theirs.',
  input: z.object({
    group_id: Id('grp'),
    role: field(z.enum([...SCIM_ROLES, 'none']), {
      hint: 'Whoever is in several groups has the highest role.',
    }),
  }),
  output: Nothing,
  errors: ['NOT_FOUND'],
  http: { method: 'put', path: `${path}/groups/{group_id}/role` },
})
