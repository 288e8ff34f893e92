/** The signed-in user. */
import * as z from 'zod'
import { field } from './field.ts'
import { DisplayName, Email, Nothing, Secret, Time } from './fields.ts'
import { PASSWORD_MAX, PASSWORD_MIN } from './limits.ts'
import { creating, reading, updating } from './operation.ts'
import { TokenHolder } from './tokens.ts'

export const NewPassword = z
  .string()
  .min(PASSWORD_MIN, `must have at least ${PASSWORD_MIN} characters; a few words will do`)
  .max(PASSWORD_MAX)

export const whoAmI = reading({
  name: 'whoAmI',
  summary: 'Retrieve the user, organization, role and scopes of your token.',
  service: 'api-gateway',
  input: z.object({}),
  output: TokenHolder,
  access: 'person',
  scope: 'any',
  http: { method: 'get', path: '/api/v1/me' },
})

const Profile = z.object({
  id: z.string(),
  name: z.string(),
  email: z.string(),
  email_verified: z.boolean(),
  receives_mail: z
    .boolean()
    .describe('False: the address was generated, or lost to whoever verified it. Nothing is sent to it.'),
  can_verify_email: z.boolean().describe('Whether this installation can send mail.'),
  has_password: z.boolean(),
  identities: z.array(z.object({ provider: z.string(), email: z.string().nullable() })),
  created_at: Time,
})

export const showProfile = reading({
  name: 'showProfile',
  summary: 'Retrieve your profile.',
  service: 'auth-service',
  input: z.object({}),
  output: Profile,
  access: 'session',
  http: { method: 'get', path: '/api/v1/profile' },
})

export const updateProfile = updating({
  name: 'updateProfile',
  summary: 'Update your name.',
  service: 'auth-service',
  input: z.object({ name: field(DisplayName, { label: 'Display name' }) }),
  output: Profile,
  access: 'session',
  http: { method: 'patch', path: '/api/v1/profile' },
})

export const changePassword = creating({
  name: 'changePassword',
  summary: 'Change your password. Your other sessions end.',
  service: 'auth-service',
  input: z.object({
    current_password: field(Secret, { isSecret: true }),
    new_password: field(NewPassword, {
      isSecret: true,
      hint: `At least ${PASSWORD_MIN} characters. A few random words work well.`,
    }),
    end_api_tokens: field(z.boolean(), {
      label: 'Also revoke my API tokens',
      hint: 'In all organizations. Choose this if somebody else may have used your account.',
    })
      .default(false)
      .describe('Also revoke your API tokens in all organizations.'),
  }),
  output: Nothing,
  access: 'session',
  errors: ['CONFLICT', 'RATE_LIMITED'],
  http: { method: 'put', path: '/api/v1/profile/password', success: 204 },
})

export const sendEmailVerification = creating({
  name: 'sendEmailVerification',
  summary: 'Send yourself a link to verify your email address.',
  service: 'auth-service',
  input: z.object({
    email: field(
      Email.optional().describe(
        'Another address, which replaces your unverified one when you open the link.',
      ),
      { label: 'Send a link to' },
    ),
  }),
  output: Nothing,
  access: 'session',
  errors: ['CONFLICT', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/v1/profile/email-verification', success: 204 },
})
