/** What open pages are told of while they are open: which list has changed, and nothing of what it holds. */
import * as z from 'zod'
import { EVENT_STREAM } from './media-types.ts'
import { reading } from './operation.ts'
import type { Role } from './roles.ts'

/**
 * Lists that tell of their changes, and from which role on. Of one that has an `own` part, people below that role are told
 * of what concerns themselves.
 */
export const CHANGING_LISTS = {
  activity: { for: 'admin', own: true },
  checks: { for: 'viewer', own: false },
  deliveries: { for: 'admin', own: false },
  deployments: { for: 'viewer', own: false },
  /** Everybody's own, whatever their role. */
  inbox: { for: null, own: true },
  loads: { for: 'viewer', own: false },
  maintenance: { for: 'viewer', own: false },
  proposals: { for: 'viewer', own: false },
} as const satisfies Readonly<Record<string, { readonly for: Role | null; readonly own: boolean }>>

export type ChangingList = keyof typeof CHANGING_LISTS

export const watchChanges = reading({
  name: 'watchChanges',
  summary:
    'Stay connected and be told which lists change: server-sent events with the names of lists, and no data.',
  service: 'api-gateway',
  input: z.object({}),
  output: z.object({ body: z.instanceof(ReadableStream) }),
  access: 'viewer',
  errors: ['RATE_LIMITED'],
  http: { method: 'get', path: '/api/v1/changes', gives: EVENT_STREAM },
})
