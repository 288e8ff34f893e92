/** Signing in, staying signed in, and signing out. */
import * as z from 'zod'
import { Email, Nothing, Secret, Time } from './fields.ts'
import { operation } from './operation.ts'
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
    .describe('The one the session works in until another is chosen.'),
})

export const signInWithPassword = operation({
  name: 'sessions.create',
  summary: 'Sign in with e-mail and password.',
  service: 'auth-service',
  input: z.object({ email: Email, password: Secret }),
  output: SessionToken,
  who: 'anyone',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'RATE_LIMITED'],
  http: { method: 'post', path: '/api/v1/sessions', success: 201 },
})

export const exchangeSignInCode = operation({
  name: 'sessions.exchange',
  summary: 'Swap the single-use code a person returned with for a token.',
  service: 'auth-service',
  input: z.object({
    code: Secret,
    code_verifier: z.string().min(43).max(128).optional().describe('PKCE, when the sign-in began with one.'),
  }),
  output: SessionToken,
  who: 'anyone',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED'],
  http: { method: 'post', path: '/api/v1/sessions/exchange', success: 201 },
})

export const rotateSession = operation({
  name: 'sessions.rotate',
  summary: 'Swap your session token for a fresh one; the old one ends within a minute.',
  service: 'auth-service',
  input: z.object({}),
  output: SessionToken,
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: false,
  idempotent: false,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'CONFLICT'],
  http: { method: 'post', path: '/api/v1/sessions/rotate', success: 201 },
})

export const listSessions = operation({
  name: 'sessions.list',
  summary: 'List where you are signed in.',
  service: 'auth-service',
  input: z.object({ ...pageInput }),
  output: z.object({
    sessions: z.array(
      z.object({
        id: z.string(),
        signed_in_by: z.string().describe('`password` or the identity provider.'),
        device: z.string().describe('What the browser or program calls itself.'),
        created_at: Time,
        last_used_at: Time,
        expires_at: Time,
        current: z.boolean(),
      }),
    ),
    ...pageOutput,
  }),
  who: 'person',
  scope: null,
  readOnly: true,
  destructive: false,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'get', path: '/api/v1/sessions' },
})

export const signOut = operation({
  name: 'sessions.end',
  summary: 'Sign out one of your sessions: `current`, or an id.',
  service: 'auth-service',
  input: z.object({ session_id: z.union([z.literal('current'), Id('ses')]) }),
  output: Nothing,
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN', 'NOT_FOUND'],
  http: { method: 'delete', path: '/api/v1/sessions/{session_id}', success: 204 },
})

export const signOutEverywhere = operation({
  name: 'sessions.endAll',
  summary: 'Sign out everywhere, here included.',
  service: 'auth-service',
  input: z.object({}),
  output: z.object({ ended: z.int() }),
  who: 'person',
  scope: null,
  readOnly: false,
  destructive: true,
  idempotent: true,
  errors: ['INVALID_REQUEST', 'UNAUTHENTICATED', 'FORBIDDEN'],
  http: { method: 'delete', path: '/api/v1/sessions' },
})
