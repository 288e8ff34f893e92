/** Signing in, staying signed in, and signing out. */
import * as z from 'zod'
import { Email, Nothing, Secret, Time } from './fields.ts'
import { creating, reading, removing } from './operation.ts'
import { pageInput, pageOutput } from './paging.ts'
import { Id } from './ids.ts'
import { RoleName } from './roles.ts'

const SessionToken = z.object({
  token: z.string(),
  expires_at: Time,
  user: z.object({ id: z.string(), email: z.string(), name: z.string() }),
  organization: z
    .object({ id: z.string(), name: z.string(), slug: z.string(), role: RoleName })
    .nullable()
    .describe('The current organization of the session.'),
})

export const signInWithPassword = creating({
  name: 'signInWithPassword',
  summary: 'Sign in with email and password.',
  service: 'auth-service',
  input: z.object({ email: Email, password: Secret }),
  output: SessionToken,
  access: 'anyone',
  errors: ['UNAUTHENTICATED', 'FORBIDDEN', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/v1/sessions', success: 201 },
})

export const exchangeSignInCode = creating({
  name: 'exchangeSignInCode',
  summary: 'Exchange a sign-in code for a session token.',
  service: 'auth-service',
  input: z.object({
    code: Secret,
    code_verifier: z
      .string()
      .min(43)
      .max(128)
      .optional()
      .describe('Required when the sign-in started with a PKCE challenge.'),
  }),
  output: SessionToken,
  access: 'anyone',
  errors: ['UNAUTHENTICATED'],
  http: { method: 'post', path: '/api/v1/sessions/exchange', success: 201 },
})

export const rotateSession = creating({
  name: 'rotateSession',
  summary: 'Rotate your session token. The old one expires within a minute.',
  service: 'auth-service',
  input: z.object({}),
  output: SessionToken,
  access: 'session',
  errors: ['CONFLICT'],
  http: { method: 'post', path: '/api/v1/sessions/rotate', success: 201 },
})

export const listSessions = reading({
  name: 'listSessions',
  summary: 'List your sessions and logins of the client.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({
    sessions: z.array(
      z.object({
        id: z.string(),
        kind: z.enum(['browser', 'cli']).describe('`cli`: a login of the client.'),
        signed_in_by: z.string().describe('`password`, the identity provider, or `svc login`.'),
        device: z.string().describe('The user agent.'),
        created_at: Time,
        last_used_at: Time,
        expires_at: Time,
        current: z.boolean(),
      }),
    ),
    ...pageOutput,
  }),
  access: 'session',
  http: { method: 'get', path: '/api/v1/sessions' },
})

export const signOut = removing({
  name: 'signOut',
  summary: 'End one of your sessions or logins of the client.',
  service: 'auth-service',
  input: z.object({ session_id: z.union([z.literal('current'), Id('ses')]) }),
  output: Nothing,
  access: 'session',
  errors: ['NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/sessions/{session_id}', success: 204 },
})

export const signOutEverywhere = removing({
  name: 'signOutEverywhere',
  summary: 'End all your sessions and logins of the client.',
  service: 'auth-service',
  input: z.object({}),
  output: z.object({ ended: z.int() }),
  access: 'session',
  http: { method: 'delete', path: '/api/v1/sessions' },
})
