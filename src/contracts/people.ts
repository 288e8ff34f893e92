/** The caller themselves. */
import * as z from 'zod'
import { DisplayName, Nothing, Secret, Time } from './fields.ts'
import { PASSWORD_MAX, PASSWORD_MIN } from './limits.ts'
import { operation } from './operation.ts'
import { ValidatedToken } from './tokens.ts'

export const NewPassword = z
  .string()
  .min(PASSWORD_MIN, `must have at least ${PASSWORD_MIN} characters: a few words do`)
  .max(PASSWORD_MAX)

export const whoAmI = operation({
  name: 'me.show',
  summary: 'Say who you are to this service: person, organization, role, scopes.',
  service: 'api-gateway',
  input: z.object({}),
  output: ValidatedToken.omit({ valid: true }),
  who: 'person',
  scope: 'any',
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/me' },
})

const Profile = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  email_verified: z.boolean(),
  can_verify_email: z.boolean().describe('Whether this installation can send the link.'),
  has_password: z.boolean(),
  identities: z.array(z.object({ provider: z.string(), email: z.string().nullable() })),
  created_at: Time,
})

export const showProfile = operation({
  name: 'profile.show',
  summary: 'Show your profile.',
  service: 'auth-service',
  input: z.object({}),
  output: Profile,
  who: 'person',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/profile' },
})

export const updateProfile = operation({
  name: 'profile.update',
  summary: 'Change your name.',
  service: 'auth-service',
  input: z.object({ name: DisplayName }),
  output: Profile,
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'patch', path: '/api/v1/profile' },
})

export const changePassword = operation({
  name: 'profile.changePassword',
  summary: 'Change your password; every other session of yours ends.',
  service: 'auth-service',
  input: z.object({ current_password: Secret, new_password: NewPassword }),
  output: Nothing,
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'put', path: '/api/v1/profile/password', success: 204 },
})

export const sendEmailVerification = operation({
  name: 'profile.verifyEmail',
  summary: 'Send yourself a link that proves your e-mail address.',
  service: 'auth-service',
  input: z.object({}),
  output: Nothing,
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/v1/profile/email-verification', success: 204 },
})
